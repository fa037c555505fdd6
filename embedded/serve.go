package main

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"path/filepath"
	"slices"

	"footfall/configs"
	"footfall/consumer/rollup"
	"footfall/embedded/broker"
	"footfall/embedded/sqlite"
	"footfall/internal/health"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/models"
	"footfall/producer/intake"
)

// serve runs all of footfall until ctx ends or a part fails, and calls ready with its addresses once it listens. It stops
// the parts in the order of the data: the producer, so that no more events come in; the reader; the consumer, which flushes; the broker; the
// store. It returns nil only after a clean stop.
func serve(ctx context.Context, cfg configs.Embedded, log *slog.Logger, ready func(addresses)) (err error) {
	var cleanups []func() error // last in, first out
	defer func() {
		for _, cleanup := range slices.Backward(cleanups) {
			err = errors.Join(err, cleanup())
		}
	}()

	producer, counting, plan, err := parts(cfg)
	if err != nil {
		return err
	}
	reading, err := readerParts(cfg)
	if err != nil {
		return err
	}
	unlock, err := lock(cfg.Data.Dir)
	if err != nil {
		return err
	}
	cleanups = append(cleanups, unlock)

	opening := context.WithoutCancel(ctx) // opening is short: it is simpler to finish it than to undo a half
	store, err := sqlite.Open(opening, cfg.Data.Dir, plan)
	if err != nil {
		return err
	}
	cleanups = append(cleanups, store.Close)

	kafka, err := broker.Start(opening, filepath.Join(cfg.Data.Dir, "broker"), retention(cfg, producer, counting, store), log)
	if err != nil {
		return err
	}
	cleanups = append(cleanups, func() error { kafka.Close(); return nil })

	producer.Kafka.KafkaClient, counting.Kafka.KafkaClient = kafka.Client(), kafka.Client()
	names := []string{producer.Kafka.Topics.Clicks, producer.Kafka.Topics.Visits, producer.Kafka.Topics.Dead}
	if err := checkLogIdentity(opening, store, kafka, names); err != nil {
		return err
	}
	via, err := dial.New(kafka.Client())
	if err != nil {
		return err
	}
	defer via.Forget()
	if err := topics.Ensure(ctx, via, names, producer.Kafka.Partitions, producer.Kafka.ReplicationFactor, true); err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // stopped before it had started
		}
		return err
	}
	// No event goes because of its age before it is counted: kfake would tell Kafka's default of a week.
	if err := topics.SetConfig(opening, via, names, "retention.ms", "-1"); err != nil {
		return err
	}

	reg := health.NewRegistry("embedded")
	ended := make(chan struct{}, 4)
	start := func(run func(context.Context) error) (stop func() error) {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // each part ends in its cleanup
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
	consumer.Alone = true
	if consumer.Memory < math.MaxInt64 {
		consumer.Memory /= 2 // the other half is for the producer, the reader, the broker and the database
	}
	cleanups = append(cleanups, start(consumer.Run))
	at, producerAt := addresses{}, &sendTo{key: !cfg.Access.Open}
	producerAt.at.Store(producer.HTTP.TLS.URL(cfg.HTTP.Addr))
	if cfg.HTTP.ReaderAddr != "" {
		reader, err := openLook(opening, reading, cfg.Data.Dir, producerAt, reg, log)
		if err != nil {
			return err
		}
		at.reader, at.readKey = reading.HTTP.TLS.URL(reader.listener.Addr().String()), !reading.Access.Open
		cleanups = append(cleanups, start(reader.serve))
	}
	cleanups = append(cleanups, start(func(ctx context.Context) error {
		return intake.Run(ctx, producer, intake.Opened(store), reg, log, func(addr, admin string) {
			at.producer, at.admin = producer.HTTP.TLS.URL(addr), admin
			producerAt.at.Store(at.producer)
			ready(at)
		})
	}))

	select {
	case <-ctx.Done():
	case <-ended: // the cleanup of the failed part returns its error
	}
	return nil
}

// parts are the configurations of the producer and the consumer, with the values that the one process sets, and the plan of features and
// metrics.
func parts(cfg configs.Embedded) (producer configs.Producer, counting configs.Consumer, plan *models.Plan, err error) {
	if producer, err = configs.LoadProducer(""); err != nil {
		return producer, counting, nil, err
	}
	if counting, err = configs.LoadConsumer(""); err != nil {
		return producer, counting, nil, err
	}
	producer.HTTP.Addr, producer.HTTP.AdminAddr = cfg.HTTP.Addr, cfg.HTTP.AdminAddr
	producer.HTTP.Pprof = cfg.HTTP.Pprof
	producer.Access.Open = cfg.Access.Open
	producer.Links.Enabled = cfg.Links.Enabled
	producer.Kafka.CreateTopics = true
	producer.Kafka.ReplicationFactor = 1
	if err = intake.Check(producer); err != nil { // before anything is started
		return producer, counting, nil, err
	}
	if counting.Visitors.IPTTL != 0 {
		return producer, counting, nil, configs.MarkWrong(errors.New("visitors.ip_ttl is for Cassandra: rows in SQLite stay; set it to 0s"))
	}
	plan, err = models.NewPlan(counting.Features, counting.Metrics)
	return producer, counting, plan, configs.MarkWrong(err)
}
