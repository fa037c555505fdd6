package listen

import (
	"bytes"
	"log"
	"log/slog"
	"strings"
	"testing"
)

// TestNoAddressesInTheLog: the log does not have the addresses of clients that net/http writes.
func TestNoAddressesInTheLog(t *testing.T) {
	var out bytes.Buffer
	log := log.New(logWriter{slog.New(slog.NewJSONHandler(&out, nil))}, "", 0)
	log.Printf("http: TLS handshake error from 203.0.113.7:4711: EOF")
	if out.Len() > 0 {
		t.Errorf("anyone can write: %s", &out)
	}
	log.Printf("http: superfluous thing from %s\n\"quoted\"", "203.0.113.7:4711")
	log.Printf("http: another from [2001:db8::1%%eth0]:4711 and [::1]:80")
	log.Printf("http: Accept error: accept tcp [::]:8080: too many open files; retrying in 5ms")
	text := out.String()
	for _, address := range []string{"203.0.113", "2001:db8", "eth0", ":4711", "::1"} {
		if strings.Contains(text, address) {
			t.Errorf("%q is in the log: %s", address, text)
		}
	}
	if strings.Count(text, "\n") != 3 || !strings.Contains(text, "too many open files; retrying in 5ms") {
		t.Errorf("log: %s", text)
	}
}
