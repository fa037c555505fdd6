package health

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestServe(t *testing.T) {
	server, err := Listen(t.Context(), "http.addr", "127.0.0.1:0", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), "http.addr", server.Addr(), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "http.addr") {
		t.Errorf("listening on an address in use: %v", err)
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "a_gauge", Help: "x"}))
	var ill error
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, Handler(reg, func() error { return ill })) }()
	f := func(method, path string, status int, want string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+server.Addr()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != status || !strings.Contains(string(body), want) || response.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s = %d %q, %v; want %d %q", method, path, response.StatusCode, body, response.Header, status, want)
		}
	}
	f("GET", "/healthz", 200, "ok")
	f("GET", "/readyz", 200, "ready")
	f("GET", "/metrics", 200, "a_gauge 0")
	f("POST", "/readyz", 405, "")
	f("GET", "/", 404, "")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server.Addr()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "evil.example" // a page that points its name to this machine
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a page elsewhere: %s, %v", response.Status, err)
	}
	if err := Ask(t.Context(), "http.addr", server.Addr()); err != nil {
		t.Errorf("asking a ready process: %v", err)
	}
	ill = errors.New("no partitions yet")
	f("GET", "/healthz", 200, "ok")
	f("GET", "/readyz", 503, "no partitions yet")
	if err := Ask(t.Context(), "http.addr", server.Addr()); err == nil || !strings.Contains(err.Error(), "no partitions yet") {
		t.Errorf("asking a process that is not ready: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}
