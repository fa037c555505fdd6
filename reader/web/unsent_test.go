package web

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"
)

// TestABodyThatDoesNotCome: whoever announces a body and does not send it is answered, and does not keep the connection for long.
func TestABodyThatDoesNotCome(t *testing.T) {
	s := newServer(t, newFake(), open, nil)
	l, err := s.Listen(t.Context(), "http.addr", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = s.Serve(ctx, l) }() // until the test ends
	var all sync.WaitGroup
	for request, want := range map[string]int{
		"GET /nowhere": http.StatusNotFound, "GET /v1/openapi.yaml": http.StatusOK, "GET /v1/stats/links/a": http.StatusOK, "POST /v1/stats/links/a": http.StatusMethodNotAllowed,
	} {
		all.Go(func() {
			began := time.Now()
			status, _, _, err := ask(l.Addr().String(), request+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n")
			if took := time.Since(began); err != nil || status != want || took > readTimeout-time.Second {
				t.Errorf("%s: %v, %v after %v; want %d", request, status, err, took, want)
			}
		})
	}
	all.Wait()
}
