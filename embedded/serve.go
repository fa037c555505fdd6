package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"footfall/configs"
	"footfall/consumer/rollup"
	"footfall/embedded/broker"
	"footfall/embedded/sqlite"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/models"
	"footfall/producer/intake"
)

// serve runs all of footfall until ctx ends or a part fails, and calls ready with the door's addresses once it is open. It
// stops in the order of the data: the door, so that nothing new comes in; the consumer, which flushes; the broker; the
// store. After that, and only after a clean stop, it returns nil.
func serve(ctx context.Context, cfg configs.Embedded, log *slog.Logger, ready func(addr, admin string)) (err error) {
	var cleanups []func() error // last in, first out
	defer func() {
		for _, cleanup := range slices.Backward(cleanups) {
			err = errors.Join(err, cleanup())
		}
	}()

	door, counting, plan, err := parts(cfg)
	if err != nil {
		return err
	}
	unlock, err := lock(cfg.Data.Dir)
	if err != nil {
		return err
	}
	cleanups = append(cleanups, unlock)
	if err := tighten(cfg.Data.Dir); err != nil {
		log.Warn("others may be able to read the data: make data.dir and what is in it this user's alone (chmod -R go= DIR)", "error", err)
	}

	opening := context.WithoutCancel(ctx) // short; half done it would have to be explained
	store, err := sqlite.Open(opening, cfg.Data.Dir, plan)
	if err != nil {
		return err
	}
	cleanups = append(cleanups, store.Close)

	kafka, err := broker.Start(opening, filepath.Join(cfg.Data.Dir, "broker"), retention(cfg, door, counting, store), log)
	if err != nil {
		return err
	}
	cleanups = append(cleanups, func() error { kafka.Close(); return nil })

	door.Kafka.Brokers = []string{kafka.Addr()}
	counting.Kafka.Brokers = door.Kafka.Brokers
	names := []string{door.Kafka.Topics.Clicks, door.Kafka.Topics.Visits, door.Kafka.Topics.Dead}
	if err := sameLog(opening, store, kafka, names); err != nil {
		return err
	}
	if err := topics.Ensure(ctx, dial.Plain(door.Kafka.Brokers...), names, door.Kafka.Partitions, door.Kafka.ReplicationFactor, true); err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // asked to stop before it had begun
		}
		return err
	}

	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	ended := make(chan struct{}, 3)
	start := func(run func(context.Context) error) (stop func() error) {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // each part ends when its cleanup says so
		result := make(chan error, 1)
		go func() {
			result <- run(ctx)
			ended <- struct{}{}
		}()
		return func() error { cancel(); return <-result }
	}
	cleanups = append(cleanups, start(func(ctx context.Context) error { return trim(ctx, kafka, log) }))
	consumer, err := rollup.New(counting, store, reg, log)
	if err != nil {
		return err
	}
	cleanups = append(cleanups, start(consumer.Run))
	cleanups = append(cleanups, start(func(ctx context.Context) error {
		err := intake.Run(ctx, door, store, reg, log, ready)
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("%w: is footfall running already? Else set FOOTFALL_HTTP_ADDR or FOOTFALL_HTTP_ADMIN_ADDR (127.0.0.1:0 takes any free port)", err)
		}
		return err
	}))

	select {
	case <-ctx.Done():
	case <-ended: // the cleanup of the part that failed has the error
	}
	return nil
}

// parts are the configurations of the door and the consumer: their own, but for what one process decides itself; and what
// both keep of visits.
func parts(cfg configs.Embedded) (door configs.Producer, counting configs.Consumer, plan *models.Plan, err error) {
	if door, err = configs.LoadProducer(""); err != nil {
		return door, counting, nil, err
	}
	if counting, err = configs.LoadConsumer(""); err != nil {
		return door, counting, nil, err
	}
	door.HTTP.Addr, door.HTTP.AdminAddr = cfg.HTTP.Addr, cfg.HTTP.AdminAddr
	door.Access.Open = cfg.Access.Open
	door.Links.Enabled = cfg.Links.Enabled
	door.Kafka.CreateTopics = true
	door.Kafka.ReplicationFactor = 1
	if err = intake.Check(door); err != nil { // before anything is begun
		return door, counting, nil, err
	}
	if counting.Visitors.IPTTL != 0 {
		return door, counting, nil, configs.MarkWrong(errors.New("visitors.ip_ttl is for Cassandra: rows in SQLite stay; set it to 0s"))
	}
	plan, err = models.NewPlan(counting.Features, counting.Metrics)
	return door, counting, plan, configs.MarkWrong(err)
}
