package eventlog

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"

	"footfall/configs"
	"footfall/consumer/store"
	"footfall/internal/kafka/dial"
	"footfall/models"
)

// Log is the topics that a configuration names, as they are counted into the tables of a store: what consumers and commands ask Kafka
// about them. Safe for concurrent use, but for lookAround, which has to be called before anything that compares tables.
type Log struct {
	Config configs.Consumer
	Plan   *models.Plan
	Kafka  dial.Kafka
	Store  store.Store
	Logger *slog.Logger
	Tables string // which the store's are; lookAround finds out

	// Accepting: a generation that was deleted before all of it was counted is no reason to refuse.
	Accepting bool
}

// New makes a log. It returns an error if it cannot make sense of cfg.Features and cfg.Metrics, or of kafka.tls or kafka.sasl.
func New(cfg configs.Consumer, db store.Store, log *slog.Logger) (*Log, error) {
	plan, err := models.NewPlan(cfg.Features, cfg.Metrics)
	if err != nil {
		return nil, err
	}
	via, err := dial.New(cfg.Kafka.Brokers, cfg.Kafka.TLS, cfg.Kafka.SASL)
	if err != nil {
		return nil, err
	}
	return &Log{Config: cfg, Plan: plan, Kafka: via, Store: db, Logger: log}, nil
}

// Discover refuses what nobody should count, before the group notices us, and finds what there is to count.
func (l *Log) Discover(ctx context.Context) (_ Sources, err error) {
	if l.Tables, err = tablesOf(ctx, l.Store); err != nil {
		return nil, err
	}
	if err := l.CheckUnshared(ctx, groupPatience); err != nil {
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

// checkSettings compares with what a topic was counted with from the beginning. Visitors would be decided in another partition, or
// repairs made by another rule, if that changed.
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
			return fmt.Errorf("topic %s has %s %s, but was counted with %s so far, and must be to the end: %s", topic, s.what, s.value,
				recorded, s.remedy)
		}
	}
	return nil
}

// Fact names a setting of a topic.
func Fact(topic, what string) string { return "topic " + topic + ": " + what }

// Reach is how far back ids are looked for.
func (l *Log) Reach() Reach {
	return Reach{int64(l.Config.Duplicates.Window), l.Config.Duplicates.Age}
}

// FactCarried names the record that a batch from an offset on was carried over; its value is where that ended.
func FactCarried(topic string, partition int, from int64) string {
	return Fact(topic, fmt.Sprintf("carried %d/%d", partition, from))
}

// Ends are the offsets after the last messages of a topic.
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
