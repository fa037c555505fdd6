// Package health serves /healthz, /readyz, /metrics and, if asked to, profiles on a listener of its own. It also asks a running process whether
// it is ready.
package health

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"footfall/internal/listen"
)

// Server answers operators. It has its own listener, so other clients of the process cannot use up its connections.
type Server struct {
	key      string
	listener *listen.Conns
	log      *slog.Logger
}

// Listen listens on addr; port 0 takes any free one. key is the configuration key of addr, for errors. Serve closes the listener.
func Listen(ctx context.Context, key, addr string, log *slog.Logger) (*Server, error) {
	listener, err := listen.Open(ctx, key, addr, listen.Bounds{Most: 32, PerNetwork: 16}, log)
	if err != nil {
		return nil, err
	}
	return &Server{key, listener, log}, nil
}

// Addr is the address that the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Serve answers until ctx ends, then closes all connections and returns nil. It returns an error if it ends before.
func (s *Server) Serve(ctx context.Context, handler http.Handler) error {
	hosts := listen.HostsOf(s.listener.Addr(), nil)
	web := listen.Server{Read: 15 * time.Second, Write: time.Minute, Log: s.log, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hosts.Answers(r.Host) { // a page that points its name to this machine
			http.Error(w, s.key+" is for this machine: ask for 127.0.0.1 or localhost", http.StatusMisdirectedRequest)
			return
		}
		handler.ServeHTTP(w, r)
	})}
	if _, err := web.Serve(ctx, s.listener); err != nil {
		return fmt.Errorf("%s: %w", s.key, err)
	}
	return nil
}

// Handler answers /healthz, /readyz and /metrics in plain text. ready returns nil, or an error that says why the process is not ready. It is
// called concurrently.
func Handler(reg prometheus.Gatherer, ready func() error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.Handle("GET /metrics", Metrics(reg))
	return mux
}

// Metrics answers with the registry's metrics. Handler includes it; servers that have other paths use it alone.
func Metrics(reg prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
}
