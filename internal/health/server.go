// Package health serves /healthz, /readyz, /metrics and, if asked to, profiles on a listener of its own. It also asks a running process whether
// it is ready.
package health

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Server answers operators. It has its own listener, so other clients of the process cannot use up its connections.
type Server struct {
	// ErrorLog gets the errors of net/http. Default: the standard logger.
	ErrorLog *log.Logger

	key      string
	listener net.Listener
}

// Listen listens on addr; port 0 takes any free one. key is the configuration key of addr, for errors. Serve closes the listener.
func Listen(ctx context.Context, key, addr string) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening on %s (%s; port 0 takes any free one): %w", addr, key, err)
	}
	return &Server{key: key, listener: listener}, nil
}

// Addr is the address that the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Serve answers until ctx ends, then closes all connections and returns nil. It returns an error if it ends before.
func (s *Server) Serve(ctx context.Context, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ErrorLog: s.ErrorLog, MaxHeaderBytes: 16 << 10,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving health and metrics (%s): %w", s.key, err)
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
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	})
}

// Metrics answers with the registry's metrics. Handler includes it; servers that have other paths use it alone.
func Metrics(reg prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
}
