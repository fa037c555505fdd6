package main

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/rollup"
	"footfall/internal/health"
	"footfall/models"
)

// count counts events into Cassandra until ctx ends.
func count(ctx context.Context, cfg configs.Consumer, plan *models.Plan, log *slog.Logger) error {
	store, err := cassandra.Open(ctx, cfg.Cassandra, plan)
	if err != nil {
		return err
	}
	defer store.Close()
	store.ExpireIPs(cfg.Visitors.IPTTL)
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), store)
	durable := newDurability(store, cfg.Cassandra.RequireDurable, reg, log)
	if err := durable.check(ctx); err != nil {
		return err
	}
	consumer, err := rollup.New(cfg, store, reg, log)
	if err != nil {
		return err
	}
	operators, err := health.Listen(ctx, "http.addr", cfg.HTTP.Addr)
	if err != nil {
		return err
	}
	log.Info("consumer started", "addr", operators.Addr(), "group", cfg.Kafka.Group)
	group, ctx := errgroup.WithContext(ctx)
	answering, done := context.WithCancel(context.WithoutCancel(ctx)) // until the last flush is over
	group.Go(func() error { return operators.Serve(answering, health.Handler(reg, consumer.Ready)) })
	group.Go(func() error { return durable.watch(ctx) })
	group.Go(func() error {
		defer done()
		return guarded(ctx, consumer.Run, store)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	log.Info("consumer stopped")
	return nil
}
