// Package health answers operators on a listener of its own (is this process alive, is it ready, what are its metrics?) and asks a
// running process whether it is ready.
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

// Server answers operators. It has its connections to itself: whoever else the process serves cannot take them.
type Server struct {
	// ErrorLog is told what net/http complains about. Default: the standard logger.
	ErrorLog *log.Logger

	key      string
	listener net.Listener
}

// Listen takes the address, which is the value of a key of the configuration; port 0 takes any free one. Serve closes the listener.
func Listen(ctx context.Context, key, addr string) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening on %s (%s; port 0 takes any free one): %w", addr, key, err)
	}
	return &Server{key: key, listener: listener}, nil
}

// Addr is the address that it listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Serve answers until ctx ends, and then hangs up on whoever is still asking. It returns nil then, and an error if it ended before.
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

// Handler answers /healthz, /readyz and /metrics in plain text. ready returns nil, or why the process is not.
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

// Metrics answers with what the registry has. Handler has it; it is for those whose other answers are their own.
func Metrics(reg prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
}
