package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// gate is a proxy between the browser and the producer. It gives the producer another origin and can hold beacons back.
type gate struct {
	*httptest.Server
	beacons atomic.Int64
	open    chan struct{}
	arrived chan struct{}
	mu      sync.Mutex
}

func newGate(t *testing.T, producer string) *gate {
	t.Helper()
	target, err := url.Parse(producer)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{arrived: make(chan struct{}, 100)}
	proxy := httputil.NewSingleHostReverseProxy(target)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			g.beacons.Add(1)
			g.mu.Lock()
			open := g.open
			g.mu.Unlock()
			if open != nil {
				g.arrived <- struct{}{}
				<-open
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *gate) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

func (g *gate) release() { close(g.open) }

func (g *gate) waiting(t *testing.T) {
	t.Helper()
	select {
	case <-g.arrived:
	case <-time.After(30 * time.Second):
		t.Fatal("no beacon came")
	}
}

// site has pages under two host names. They load the script with extra attributes, and their policy allows the producer's script and
// connections to the producer only.
type site struct{ here, elsewhere string }

func newSite(t *testing.T, producer, attributes string) site {
	t.Helper()
	script := `<script async src="` + producer + `/track.js" data-site="site1" ` + attributes
	var s site
	pages := map[string]string{
		"/one":     script + `></script><a id="two" href="/two">two</a>`,
		"/two":     script + `></script><a id="off" href="/off">off</a>`,
		"/three":   script + `></script>`,
		"/off":     script + ` data-off></script><a id="htmloff" href="/htmloff">next</a>`,
		"/htmloff": script + `></script>`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if r.URL.Path == "/start" {
			body, ok = `<a id="one" href="`+s.here+`/one">one</a>`, true
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", "default-src 'none'; img-src data:; script-src "+producer+"; connect-src "+producer)
		w.Header().Set("Referrer-Policy", "strict-origin-when-cross-origin")
		html := "<html>"
		if r.URL.Path == "/htmloff" {
			html = `<html data-footfall="off">`
		}
		fmt.Fprintf(w, `<!doctype html>%s<head><title>%s</title><link rel="icon" href="data:,"></head><body>%s</body></html>`, html, r.URL.Path, body)
	}))
	t.Cleanup(server.Close)
	s.elsewhere = server.URL
	s.here = strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	return s
}

// serveText serves one page under every path except /favicon.ico, which browsers ask for.
func serveText(t *testing.T, text string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/favicon.ico" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, text)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
