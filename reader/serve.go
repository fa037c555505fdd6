package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"footfall/configs"
	"footfall/internal/await"
	"footfall/internal/cli"
	"footfall/internal/health"
	"footfall/reader/cassandra"
	"footfall/reader/stats"
	"footfall/reader/web"
)

// serve is what a reader is for: it answers until ctx ends.
func serve(ctx context.Context, cfg configs.Reader, _ commandLine, _, stderr io.Writer) error {
	log := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: cfg.Log.Level}))
	return cli.Logged(log, "reader", run(ctx, cfg, log))
}

func run(ctx context.Context, cfg configs.Reader, log *slog.Logger) error {
	reg := health.NewRegistry("reader")
	how, err := web.ConfigOf(cfg, reg, log) // before it waits for Cassandra
	if err != nil {
		return err
	}
	if err := cassandra.Check(cfg.Cassandra.CassandraClient, cfg.Cassandra.Consistency); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	r := &reading{cfg: cfg, how: how, log: log, waiting: await.New(log)}
	r.waiting.Register(reg)
	if err := r.serveOperators(ctx, reg, group); err != nil { // first: a reader that waits is alive, and not ready
		return err
	}
	group.Go(func() error { return r.run(ctx) })
	return group.Wait()
}

// reading is a reader, from its start on.
type reading struct {
	cfg     configs.Reader
	how     web.Config
	log     *slog.Logger
	waiting *await.Waiter
	admin   string                       // the address that operators ask; empty: none
	opened  atomic.Pointer[health.Probe] // whether Cassandra answers, once it has
}

// run waits for Cassandra and its schema, and answers questions until ctx ends.
func (r *reading) run(ctx context.Context) error {
	cfg := r.cfg
	var store *cassandra.Store
	err := r.waiting.For(ctx, "Cassandra", func(ctx context.Context) (err error) {
		store, err = cassandra.Open(ctx, cfg.Cassandra.CassandraClient, cfg.Cassandra.Consistency)
		return err
	})
	if err != nil && ctx.Err() != nil {
		return nil //nolint:nilerr // asked to stop while it waited
	}
	if err != nil {
		return err
	}
	defer store.Close()
	pulse := stats.NewPulse(store, cfg.Kafka.Topics.Clicks, cfg.Kafka.Topics.Visits, time.Now)
	r.how.Pulse = pulse.Last
	server := web.New(stats.New(store, cfg.Kafka.Topics.Clicks, cfg.Kafka.Topics.Visits), r.how)
	listener, err := server.Listen(ctx, "http.addr", cfg.HTTP.Addr)
	if err != nil {
		return err
	}
	r.opened.Store(&health.Probe{Ask: func(ctx context.Context) error { _, err := store.Progress(ctx); return err }})
	r.log.Info("listening", "addr", listener.Addr().String(), "admin", r.admin)
	switch {
	case r.how.Access.Open():
		r.log.Warn("anyone may read (access.open)")
	case r.how.Access.Empty():
		r.log.Warn("nobody may read: set access.readers or access.share_secrets, or access.open to let anyone")
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { pulse.Run(ctx); return nil })
	group.Go(func() error { return server.Serve(ctx, listener) })
	if err := group.Wait(); err != nil {
		return err
	}
	r.log.Info("stopped listening")
	return nil
}

// serveOperators answers on http.admin_addr, if there is one: health, readiness, metrics, and profiles if http.pprof.
func (r *reading) serveOperators(ctx context.Context, reg *prometheus.Registry, group *errgroup.Group) error {
	if r.cfg.HTTP.AdminAddr == "" {
		return nil
	}
	operators, err := health.Listen(ctx, "http.admin_addr", r.cfg.HTTP.AdminAddr, r.log)
	if err != nil {
		return err
	}
	r.admin = operators.Addr()
	ready := func() error {
		if ctx.Err() != nil {
			return errors.New("the reader is stopping")
		}
		return r.ready()
	}
	group.Go(func() error {
		return operators.Serve(ctx, health.WithProfiles(r.cfg.HTTP.Pprof, health.Handler(reg, ready)))
	})
	return nil
}

// ready returns nil if the reader can answer, else an error that says why not.
func (r *reading) ready() error {
	if err := r.waiting.Check(); err != nil {
		return err
	}
	if probe := r.opened.Load(); probe != nil {
		return probe.Check()
	}
	return errors.New("not started yet")
}
