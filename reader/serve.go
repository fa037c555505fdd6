package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"footfall/configs"
	"footfall/internal/cli"
	"footfall/internal/health"
	"footfall/reader/cassandra"
	"footfall/reader/stats"
	"footfall/reader/web"
)

// serve is what a reader is for: it answers until ctx ends.
func serve(ctx context.Context, cfg configs.Reader, _ commandLine, _, stderr io.Writer) error {
	log := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: cfg.Log.Level}))
	err := run(ctx, cfg, log)
	if wrong := (*configs.Wrong)(nil); err == nil || errors.As(err, &wrong) {
		return err
	}
	log.Error("the reader ends", "error", err.Error()) // the log should say why it ends
	return cli.ErrLogged
}

func run(ctx context.Context, cfg configs.Reader, log *slog.Logger) error {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	how, err := web.ConfigOf(cfg, reg, log) // before it waits for Cassandra
	if err != nil {
		return err
	}
	pair, err := web.KeyPair(cfg.HTTP.TLS.Cert, cfg.HTTP.TLS.Key)
	if err != nil {
		return err
	}
	store, err := cassandra.Open(ctx, cfg.Cassandra.CassandraClient, cfg.Cassandra.Consistency)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // asked to stop while still waiting for Cassandra
	}
	if err != nil {
		return err
	}
	defer store.Close()
	pulse := stats.NewPulse(store, cfg.Kafka.Topics.Clicks, cfg.Kafka.Topics.Visits, time.Now)
	how.Pulse = pulse.Last
	server, err := web.New(stats.New(store, cfg.Kafka.Topics.Clicks, cfg.Kafka.Topics.Visits), how)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.HTTP.Addr)
	if err != nil {
		return fmt.Errorf("listening (http.addr): %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	admin, err := serveOperators(ctx, cfg.HTTP.AdminAddr, reg, store, group)
	if err != nil {
		_ = listener.Close() // it was never used
		return err
	}
	log.Info("listening", "addr", listener.Addr().String(), "admin", admin)
	switch {
	case how.Access.Open():
		log.Warn("anyone may read (access.open)")
	case how.Access.Empty():
		log.Warn("nobody may read: set access.readers or access.share_secrets, or access.open to let anyone")
	}
	group.Go(func() error { pulse.Run(ctx); return nil })
	group.Go(func() error { return server.Serve(ctx, listener, pair) })
	if err := group.Wait(); err != nil {
		return err
	}
	log.Info("stopped listening")
	return nil
}

// serveOperators answers on http.admin_addr: health, readiness and metrics. It returns the address; none if it is not wanted.
func serveOperators(ctx context.Context, addr string, reg *prometheus.Registry, store stats.Store, group *errgroup.Group) (string, error) {
	if addr == "" {
		return "", nil
	}
	operators, err := health.Listen(ctx, "http.admin_addr", addr)
	if err != nil {
		return "", err
	}
	ready := &health.Probe{Ask: func(ctx context.Context) error { _, err := store.Progress(ctx); return err }}
	group.Go(func() error {
		return operators.Serve(ctx, health.Handler(reg, func() error {
			if ctx.Err() != nil {
				return errors.New("the reader is stopping")
			}
			return ready.Check()
		}))
	})
	return operators.Addr(), nil
}
