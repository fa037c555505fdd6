package main

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/rollup"
	"footfall/internal/await"
	"footfall/internal/health"
	"footfall/internal/kafka/dial"
	"footfall/internal/memlimit"
)

// count counts events into Cassandra until ctx ends. It answers operators from the beginning, also while it waits for Cassandra and Kafka.
func count(ctx context.Context, t *task) error {
	cfg, log := t.cfg, t.log
	if err := checkServers(cfg, log); err != nil { // before it waits
		return err
	}
	operators, err := health.Listen(ctx, "http.addr", cfg.HTTP.Addr, log)
	if err != nil {
		return err
	}
	if limit := memlimit.Now(); limit < math.MaxInt64 {
		log.Info("memory is limited", "GOMEMLIMIT", limit)
	}
	log.Info("consumer started", "addr", operators.Addr(), "group", cfg.Kafka.Group)
	c := &counting{task: t, reg: health.NewRegistry("consumer"), waiting: await.New(log)}
	c.waiting.Register(c.reg)
	group, ctx := errgroup.WithContext(ctx)
	answering, done := context.WithCancel(context.WithoutCancel(ctx)) // until the last flush is over
	group.Go(func() error {
		return operators.Serve(answering, health.WithProfiles(cfg.HTTP.Pprof, health.Handler(c.reg, c.ready)))
	})
	group.Go(func() error {
		defer done()
		return c.run(ctx)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	log.Info("consumer stopped")
	return nil
}

// checkServers returns a *configs.Wrong if Cassandra or Kafka cannot be asked with this configuration. It does not connect.
func checkServers(cfg configs.Consumer, log *slog.Logger) error {
	if err := cassandra.Check(cfg.Cassandra); err != nil {
		return err
	}
	via, err := dial.New(cfg.Kafka.KafkaClient)
	if risk := via.Risk(); err == nil && risk != "" {
		log.Warn(risk)
	}
	return err
}

// counting is a consumer, from its start on.
type counting struct {
	*task
	reg      *prometheus.Registry
	waiting  *await.Waiter
	consumer atomic.Pointer[rollup.Consumer] // once Cassandra is there
}

// ready returns nil while the consumer can count, else an error that says what it waits for.
func (c *counting) ready() error {
	if err := c.waiting.Check(); err != nil {
		return err
	}
	if consumer := c.consumer.Load(); consumer != nil {
		return consumer.Ready()
	}
	return errors.New("not started yet")
}

// run waits for Cassandra and Kafka, and counts until ctx ends.
func (c *counting) run(ctx context.Context) error {
	store, durable, err := c.open(ctx)
	if ctx.Err() != nil && err != nil {
		return nil //nolint:nilerr // asked to stop while it waited
	}
	if err != nil {
		return err
	}
	defer store.Close()
	consumer, err := rollup.New(c.cfg, store, c.reg, c.log)
	if err != nil {
		return err
	}
	consumer.Await(c.waiting)
	c.consumer.Store(consumer)
	group, ctx := errgroup.WithContext(ctx)
	counted, over := context.WithCancel(ctx)
	group.Go(func() error { return durable.watch(counted) })
	group.Go(func() error {
		defer over()
		return guarded(ctx, consumer.Run, store)
	})
	return group.Wait()
}

// open waits for Cassandra and its schema. The caller closes the store.
func (c *counting) open(ctx context.Context) (store *cassandra.Store, durable *durability, err error) {
	err = c.waiting.For(ctx, "Cassandra", func(ctx context.Context) (err error) {
		store, err = cassandra.Open(ctx, c.cfg.Cassandra, c.plan)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	store.ExpireIPs(c.cfg.Visitors.IPTTL)
	c.reg.MustRegister(store.Metrics()...)
	durable = newDurability(store, c.cfg.Cassandra.RequireDurable, c.reg, c.log)
	if err := c.waiting.For(ctx, "Cassandra's nodes", durable.check); err != nil {
		store.Close()
		return nil, nil, err
	}
	return store, durable, nil
}
