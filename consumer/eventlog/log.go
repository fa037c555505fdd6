package eventlog

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"footfall/configs"
	"footfall/consumer/store"
	"footfall/internal/kafka/dial"
	"footfall/models"
)

// Log is the topics of a configuration and the store that they are counted into. Consumers and commands ask Kafka through it. Safe for
// concurrent use, except Discover and Recognise: they set Tables and have to return before anything compares tables.
type Log struct {
	Config configs.Consumer
	Plan   *models.Plan
	Kafka  dial.Kafka
	Store  store.Store
	Logger *slog.Logger
	Tables string // the name of the store's set of tables; Discover reads it

	// Accepting: Sources accepts a sealed generation that was deleted before all of it was counted. Default: it refuses.
	Accepting bool
}

// New makes a log. It returns an error if features, metrics, kafka.tls or kafka.sasl of cfg are invalid. It does not connect.
func New(cfg configs.Consumer, db store.Store, log *slog.Logger) (*Log, error) {
	plan, err := models.NewPlan(cfg.Features, cfg.Metrics)
	if err != nil {
		return nil, err
	}
	via, err := dial.New(cfg.Kafka.KafkaClient)
	if err != nil {
		return nil, err
	}
	return &Log{Config: cfg, Plan: plan, Kafka: via, Store: db, Logger: log}, nil
}

// Discover finds the generations to count. It refuses topics that must not be counted, before this process joins the group.
func (l *Log) Discover(ctx context.Context) (Sources, error) {
	if err := l.Recognise(ctx, groupPatience); err != nil {
		return nil, err // before the tables are tied to this group
	}
	src, err := l.Sources(ctx)
	if err != nil {
		return nil, err
	}
	for _, topic := range src.growing() {
		if err := l.checkRetention(ctx, topic); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// Recognise reads the name of the store's set of tables into Tables. It returns a *Refusal if the group also counts into others: see CheckUnshared.
func (l *Log) Recognise(ctx context.Context, patience time.Duration) (err error) {
	if l.Tables, err = tablesOf(ctx, l.Store); err != nil {
		return err
	}
	return l.CheckUnshared(ctx, patience)
}

// checkSettings refuses settings other than those that the topic was first counted with. Else repairs would decide by other rules than
// the consumer did, or two groups would count.
func (l *Log) checkSettings(ctx context.Context, topic string) error {
	d := l.Config.Duplicates
	for _, s := range []struct{ what, value, remedy string }{
		{"duplicates.window", strconv.Itoa(d.Window), "set it back"},
		{"duplicates.age", d.Age.String(), "set it back"},
		{"kafka.group", l.Config.Kafka.Group, "set kafka.group to that one: two groups would count everything twice, until repaired"},
	} {
		recorded, err := l.Store.Setting(ctx, Fact(topic, s.what), s.value)
		if err != nil {
			return err
		}
		if recorded != s.value {
			return Refuse("topic %s has %s %s, but was counted with %s so far, which cannot be changed: %s", topic, s.what, s.value,
				recorded, s.remedy)
		}
	}
	return nil
}

// Fact is the name of a topic's setting in the store.
func Fact(topic, what string) string { return "topic " + topic + ": " + what }

// Reach is how far back duplicates are looked for, as configured.
func (l *Log) Reach() Reach {
	return Reach{int64(l.Config.Duplicates.Window), l.Config.Duplicates.Age}
}

// FactCarried is the name of the setting that records a batch carried over from an offset on. Its value is the offset where the batch ended.
func FactCarried(topic string, partition int, from int64) string {
	return Fact(topic, fmt.Sprintf("carried %d/%d", partition, from))
}

// Ends asks for the end offset (that of the next message) of each of the topic's n partitions.
func (l *Log) Ends(ctx context.Context, topic string, n int) (map[int]int64, error) {
	var partitions []models.Partition
	for number := range n {
		partitions = append(partitions, models.Partition{Topic: topic, Number: number})
	}
	bounds, err := Bounds(ctx, l.Kafka, partitions)
	if err != nil {
		return nil, err
	}
	ends := map[int]int64{}
	for p, s := range bounds {
		ends[p.Number] = s.To
	}
	return ends, nil
}
