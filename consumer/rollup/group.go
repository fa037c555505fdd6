package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"

	"footfall/configs"
	"footfall/models"
	"footfall/producer/dial"
	"footfall/producer/topics"
)

// Consumer is one member of the consumer group.
type Consumer struct {
	cfg      configs.Consumer
	plan     *models.Plan
	kafka    dial.Kafka
	store    Store
	log      *slog.Logger
	metrics  *metrics
	tables   string // which the store's are
	owner    string
	hasher   hasher
	visitors *visitors
	latest   *latest
	ledger   *ledger
	board    *board
	windows  map[models.Partition]*window // of the last generation
	patience time.Duration                // with consumers that decide otherwise
	dead     burial
	member   atomic.Bool

	forgiving bool // events that Kafka has deleted are left out without asking
}

// New makes a consumer that counts into store, whose tables are those of cfg.Features and cfg.Metrics, and registers its
// metrics with reg. It returns an error if it cannot make sense of these, or of kafka.tls or kafka.sasl.
func New(cfg configs.Consumer, store Store, reg *prometheus.Registry, log *slog.Logger) (*Consumer, error) {
	plan, err := models.NewPlan(cfg.Features, cfg.Metrics)
	if err != nil {
		return nil, err
	}
	via, err := dial.New(cfg.Kafka.Brokers, cfg.Kafka.TLS, cfg.Kafka.SASL)
	if err != nil {
		return nil, err
	}
	keeps, err := newLatest(cfg.Latest, store)
	if err != nil {
		return nil, err
	}
	m, h := newMetrics(reg), newHasher()
	return &Consumer{
		cfg: cfg, plan: plan, kafka: via, store: store, log: log, metrics: m, hasher: h,
		owner:    newOwnerName(),
		patience: agreePatience,
		visitors: newVisitors(store, h, cfg.Visitors.LRU, m),
		latest:   keeps,
		ledger:   newLedger(store, cfg.Ledger.Cache),
		board:    newBoard(store, log),
		dead:     newDeadTopic(via, cfg.Kafka.Topics.Dead),
	}, nil
}

// Ready is nil while this process is a member of the group and knows its partitions.
func (c *Consumer) Ready() error {
	if !c.member.Load() {
		return errors.New("not a member of the consumer group yet")
	}
	return nil
}

// Run joins the group and counts until ctx ends; then it flushes, commits, leaves the group and returns nil. An error
// means that an operator has to decide: the log and the ledger do not fit each other, or the configuration is wrong.
// Run must be called once.
func (c *Consumer) Run(ctx context.Context) (err error) {
	if err := Sensible(c.cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.dead.close()) }()
	inspectors, err := c.lookAround(ctx)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // asked to stop before it had begun
	}
	if err != nil {
		return err
	}
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID:                    c.cfg.Kafka.Group,
		Brokers:               c.kafka.Brokers,
		Dialer:                c.kafka.Dialer(),
		Topics:                []string{c.cfg.Kafka.Topics.Clicks, c.cfg.Kafka.Topics.Visits},
		SessionTimeout:        c.cfg.Kafka.SessionTimeout,
		HeartbeatInterval:     c.cfg.Kafka.SessionTimeout / 10,
		RebalanceTimeout:      rebalanceTimeout,
		JoinGroupBackoff:      time.Second,
		WatchPartitionChanges: true,
		StartOffset:           kafka.FirstOffset,
	})
	if err != nil {
		return fmt.Errorf("joining group %s: %w", c.cfg.Kafka.Group, err)
	}
	for ctx.Err() == nil {
		gen, err := group.Next(ctx)
		if err != nil {
			if ctx.Err() == nil {
				c.log.Warn("joining the group failed; trying again", "group", c.cfg.Kafka.Group, "error", err)
			}
			continue
		}
		gen.Start(func(genCtx context.Context) {
			if err := c.generation(ctx, genCtx, gen, inspectors); isRefusal(err) {
				refuse(err)
			} else if err != nil {
				c.log.Warn("generation ended early; joining again", "error", err)
			}
		})
	}
	if err := group.Close(); err != nil { // waits for the generation to drain, then leaves
		return fmt.Errorf("leaving group %s: %w", c.cfg.Kafka.Group, err)
	}
	if err := context.Cause(ctx); isRefusal(err) {
		return err
	}
	return nil
}

// lookAround refuses what nobody should count, before the group notices us, and makes the inspectors of what is there.
func (c *Consumer) lookAround(ctx context.Context) (_ map[string]inspector, err error) {
	if c.tables, err = tablesOf(ctx, c.store); err != nil {
		return nil, err
	}
	if err := c.unsharedYet(ctx); err != nil {
		return nil, err // before the tables are tied to this group
	}
	inspectors, err := c.inspectors(ctx)
	if err != nil {
		return nil, err
	}
	for _, topic := range []string{c.cfg.Kafka.Topics.Clicks, c.cfg.Kafka.Topics.Visits} {
		if err := c.keeps(ctx, topic); err != nil {
			return nil, err
		}
	}
	return inspectors, nil
}

// inspectors makes the inspector of each topic, which must exist.
func (c *Consumer) inspectors(ctx context.Context) (map[string]inspector, error) {
	t := c.cfg.Kafka.Topics
	out := map[string]inspector{}
	for topic, decode := range map[string]func([]byte) (models.Event, error){t.Clicks: decodeClick, t.Visits: c.plan.Decode} {
		n, err := topics.Partitions(ctx, c.kafka, topic)
		if err != nil {
			return nil, err
		}
		byID, err := countedByID(ctx, c.store, topic) // before the other facts are recorded, by which it tells that there were none
		if err != nil {
			return nil, err
		}
		if byID {
			c.log.Warn("this topic was first counted when an id had to be unique among all senders, and stays so: of two that use the"+
				" same id one may not be counted; a new topic (kafka.topics) tells them apart", "topic", topic)
		}
		if err := c.settled(ctx, topic, n); err != nil {
			return nil, err
		}
		in := newInspector(decode, n)
		in.byID = byID
		out[topic] = in
	}
	if _, err := topics.Partitions(ctx, c.kafka, t.Dead); err != nil {
		return nil, err
	}
	return out, nil
}

// settled compares with what a topic was counted with from the beginning. Visitors would be decided in another partition, or
// repairs made by another rule, if that changed.
func (c *Consumer) settled(ctx context.Context, topic string, partitions int) error {
	d := c.cfg.Duplicates
	for _, s := range []struct{ what, value, remedy string }{
		{"partitions", strconv.Itoa(partitions), "use a new topic (kafka.topics) with the number you want"},
		{"duplicates.window", strconv.Itoa(d.Window), "set it back, or use a new topic (kafka.topics)"},
		{"duplicates.age", d.Age.String(), "set it back, or use a new topic (kafka.topics)"},
		{"kafka.group", c.cfg.Kafka.Group, "set kafka.group to that one: two groups would count everything twice, until repaired"},
	} {
		recorded, err := c.store.Setting(ctx, fact(topic, s.what), s.value)
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

// fact names a setting of a topic.
func fact(topic, what string) string { return "topic " + topic + ": " + what }

func (c *Consumer) reach() reach {
	return reach{int64(c.cfg.Duplicates.Window), c.cfg.Duplicates.Age}
}

func (c *Consumer) checker(inspectors map[string]inspector) *checker {
	return &checker{
		store: c.store, hasher: c.hasher, reach: c.reach(), metrics: c.metrics, logger: c.log,
		log:    &kafkaLog{kafka: c.kafka, inspectors: inspectors},
		number: freshNumber,
	}
}
