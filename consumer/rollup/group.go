package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"

	"footfall/configs"
	"footfall/consumer/store"
	"footfall/internal/kafka/dial"
	"footfall/models"
)

// Consumer is one member of the consumer group.
type Consumer struct {
	cfg      configs.Consumer
	plan     *models.Plan
	kafka    dial.Kafka
	store    store.Store
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
	accepting bool // a generation that was deleted before all of it was counted is no reason to refuse
}

// New makes a consumer that counts into store, whose tables are those of cfg.Features and cfg.Metrics, and registers its
// metrics with reg. It returns an error if it cannot make sense of these, or of kafka.tls or kafka.sasl.
func New(cfg configs.Consumer, store store.Store, reg *prometheus.Registry, log *slog.Logger) (*Consumer, error) {
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
	for attempt := 0; ; attempt++ {
		src, err := c.lookAround(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // asked to stop before it had begun
		}
		switch {
		case err == nil:
			attempt = 0
			if err := c.join(ctx, src); err != nil || ctx.Err() != nil {
				return err
			}
		case attempt == 0 || isRefusal(err):
			return err
		default: // it was a member already: nobody has to be told but the log
			c.log.Warn("looking at the topics failed; trying again", "attempt", attempt, "error", err)
			_ = sleep(ctx, backoff(attempt))
		}
	}
}

// join is a member of the group until ctx ends, or until other topics are to be read. An error is a *refusal, or the group was not left.
func (c *Consumer) join(ctx context.Context, src sources) error {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	c.kafka.Forget()
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID:                    c.cfg.Kafka.Group,
		Brokers:               c.kafka.Brokers,
		Dialer:                c.kafka.Dialer(),
		Topics:                src.topics(),
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
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { leave(c.watch(ctx, src)) })
	for ctx.Err() == nil {
		gen, err := group.Next(ctx)
		if err != nil {
			if ctx.Err() == nil {
				c.log.Warn("joining the group failed; trying again", "group", c.cfg.Kafka.Group, "error", err)
			}
			continue
		}
		ended := make(chan struct{})
		gen.Start(func(genCtx context.Context) {
			defer close(ended)
			if err := c.generation(ctx, genCtx, gen, src); isRefusal(err) {
				leave(err)
			} else if err != nil {
				c.log.Warn("generation ended early; joining again", "error", err)
			}
		})
		<-ended // the group does not wait for a function that was started when the generation was over already
	}
	if err := group.Close(); err != nil { // waits for the generation to drain, then leaves
		return fmt.Errorf("leaving group %s: %w", c.cfg.Kafka.Group, err)
	}
	if err := context.Cause(ctx); isRefusal(err) {
		return err
	}
	return nil
}

// lookAround refuses what nobody should count, before the group notices us, and finds what there is to count.
func (c *Consumer) lookAround(ctx context.Context) (_ sources, err error) {
	if c.tables, err = tablesOf(ctx, c.store); err != nil {
		return nil, err
	}
	if err := c.unshared(ctx, groupPatience); err != nil {
		return nil, err // before the tables are tied to this group
	}
	src, err := c.sources(ctx)
	if err != nil {
		return nil, err
	}
	for _, topic := range src.growing() {
		if err := c.keeps(ctx, topic); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// settled compares with what a topic was counted with from the beginning. Visitors would be decided in another partition, or
// repairs made by another rule, if that changed.
func (c *Consumer) settled(ctx context.Context, topic string) error {
	d := c.cfg.Duplicates
	for _, s := range []struct{ what, value, remedy string }{
		{"duplicates.window", strconv.Itoa(d.Window), "set it back"},
		{"duplicates.age", d.Age.String(), "set it back"},
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

func (c *Consumer) checker(src sources) *checker {
	return &checker{
		store: c.store, hasher: c.hasher, reach: c.reach(), metrics: c.metrics, logger: c.log, sources: src,
		log:    &kafkaLog{kafka: c.kafka, sources: src},
		number: freshNumber,
		parts:  walkParts, partsAtOnce: walkAtOnce,
	}
}
