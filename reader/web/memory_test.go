package web

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
)

// TestAMillionRowsTakeLittleMemory: an answer is never whole in memory.
func TestAMillionRowsTakeLittleMemory(t *testing.T) {
	const rows, most = 1_000_000, 50 << 20
	f := newFake()
	f.points = many(rows)
	server := httptest.NewServer(newServer(t, f, open, nil))
	defer server.Close()
	response, err := http.Get(server.URL + series + "&format=csv") // the client accepts gzip
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	lines, peak := 0, uint64(0)
	for scan := bufio.NewScanner(response.Body); scan.Scan(); lines++ {
		if lines%50_000 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
	}
	if lines != rows+1 || peak > most {
		t.Errorf("%d lines, %d MB of heap", lines, peak>>20)
	}
	t.Logf("%d MB of heap at the most", peak>>20)
}
