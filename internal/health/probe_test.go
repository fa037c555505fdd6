package health

import "testing"

func TestReachable(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:8080": "127.0.0.1:8080", ":8080": "localhost:8080", "0.0.0.0:8080": "localhost:8080", "[::]:8080": "localhost:8080",
		"[::1]:8080": "[::1]:8080", "example.org:80": "example.org:80", "8080": "", "127.0.0.1:0": "", "": "",
	} {
		if got, err := Reachable("http.addr", addr); got != want || (err == nil) != (want != "") {
			t.Errorf("Reachable(%q) = %q, %v; want %q", addr, got, err, want)
		}
	}
}
