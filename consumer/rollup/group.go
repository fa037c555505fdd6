package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"

	"footfall/configs"
	"footfall/consumer/eventlog"
	"footfall/consumer/names"
	"footfall/consumer/pause"
	"footfall/consumer/rollup/balancer"
	"footfall/consumer/rollup/latest"
	"footfall/consumer/rollup/meter"
	"footfall/consumer/rollup/sight"
	"footfall/consumer/store"
	"footfall/internal/await"
	"footfall/internal/kafka/dial"
	"footfall/internal/memlimit"
	"footfall/internal/retry"
	"footfall/models"
)

// Consumer is one member of the consumer group. It embeds the log that it counts, so that a rebuild can ask it about topics and offsets.
type Consumer struct {
	*eventlog.Log
	metrics     *meter.Metrics
	owner       string
	hasher      eventlog.Hasher
	visitors    *sight.Visitors
	latest      *latest.Clicks
	ledger      *ledger
	names       *names.Lister
	retirements *eventlog.RetirementWatcher
	pauses      *pause.Watcher
	windows     map[models.Partition]*eventlog.Window // of the last generation
	patience    time.Duration                         // how long agree waits for consumers of another version
	keysAtOnce  int                                   // that are written at once
	deadLetters eventlog.DeadLetterWriter
	member      atomic.Bool
	balancer    balancer.Balancer
	waiting     *await.Waiter // see Await

	// Memory is the process's limit, in bytes, from which the consumer divides what it keeps. Default: that of the Go runtime. Set it before Run.
	Memory int64
	// Alone says that nobody else can take partitions, so all are counted, if there is memory for them or not. Default: false. Set it before Run.
	Alone  bool
	shares shares // of the last generation

	forgiving bool // skip events that Kafka has deleted, instead of refusing
}

// New makes a consumer that counts into db, whose tables have cfg.Features and cfg.Metrics, and registers its metrics with reg.
// It returns an error if these, latest, kafka.tls or kafka.sasl are invalid.
func New(cfg configs.Consumer, db store.Store, reg *prometheus.Registry, log *slog.Logger) (*Consumer, error) {
	l, err := eventlog.New(cfg, db, log)
	if err != nil {
		return nil, err
	}
	keeps, err := latest.New(cfg.Latest, db)
	if err != nil {
		return nil, err
	}
	m, h := meter.New(reg), eventlog.NewHasher()
	return &Consumer{
		Log: l, metrics: m, hasher: h,
		owner:       eventlog.NewOwnerName(),
		patience:    agreePatience,
		keysAtOnce:  keysAtOnce,
		Memory:      memlimit.Now(),
		shares:      shares{part: 1},
		visitors:    sight.New(db, h, cfg.Visitors.LRU, models.FullRow, costAtOnce, m.LRUHits, m.Lookups),
		latest:      keeps,
		ledger:      newLedger(db, h, cfg.Ledger.Cache),
		names:       names.New(db, l.Plan, h, (cfg.Ledger.Cache+3)/4),
		retirements: eventlog.NewRetirementWatcher(db, log),
		pauses:      pause.NewWatcher(db, reg, log),
		deadLetters: eventlog.NewDeadLetterTopic(l.Kafka, cfg.Kafka.Topics.Dead),
	}, nil
}

// NewReplay makes a consumer that counts into db what other tables hold already. It writes no dead letters, since they are written, and
// skips events that Kafka has deleted. Its errors are those of New.
func NewReplay(cfg configs.Consumer, db store.Store, log *slog.Logger) (*Consumer, error) {
	c, err := New(cfg, db, prometheus.NewRegistry(), log)
	if err != nil {
		return nil, err
	}
	err = c.deadLetters.Close()
	c.deadLetters, c.forgiving, c.Alone = eventlog.DiscardDeadLetters{}, true, true
	return c, err
}

// Await makes Run wait for Kafka, the topics and the store when it starts. Without it, Run fails if one of them is not there.
func (c *Consumer) Await(w *await.Waiter) { c.waiting = w }

func (c *Consumer) awaitTopics(ctx context.Context) (eventlog.Sources, error) {
	return c.AwaitDiscover(ctx, c.waiting)
}

// Ready returns nil while this process is a member of the group and knows its partitions.
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
	if err := Sensible(c.Config); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.deadLetters.Close()) }()
	for attempt := 0; ; attempt++ {
		discover := c.Discover
		if attempt == 0 && c.waiting != nil {
			discover = c.awaitTopics
		}
		src, err := discover(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // asked to stop before it had begun
		}
		switch {
		case err == nil:
			attempt = 0
			if err := c.join(ctx, src); err != nil || ctx.Err() != nil {
				return err
			}
		case attempt == 0 || eventlog.IsRefusal(err):
			return err
		default: // it was a member before: the failure may pass
			c.Logger.Warn("looking at the topics failed; trying again", "attempt", attempt, "error", err)
			_ = retry.Sleep(ctx, retry.Backoff(attempt))
		}
	}
}

// join stays in the group until ctx ends or the topics to be read change. An error is a *eventlog.Refusal, or is final, or
// joining or leaving failed.
func (c *Consumer) join(ctx context.Context, src eventlog.Sources) error {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	c.Kafka.Forget()
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID:                    c.Config.Kafka.Group,
		Brokers:               c.Kafka.Brokers,
		Dialer:                c.Kafka.Dialer(),
		Topics:                src.Topics(),
		GroupBalancers:        []kafka.GroupBalancer{&c.balancer},
		SessionTimeout:        c.Config.Kafka.SessionTimeout,
		HeartbeatInterval:     heartbeat(c.Config.Kafka.SessionTimeout),
		RebalanceTimeout:      rebalanceTimeout,
		JoinGroupBackoff:      time.Second,
		WatchPartitionChanges: true,
		StartOffset:           kafka.FirstOffset,
	})
	if err != nil {
		return fmt.Errorf("joining group %s: %w", c.Config.Kafka.Group, err)
	}
	partitions := map[string]int{}
	for _, topic := range src.Topics() {
		partitions[topic] = src[topic].Partitions()
	}
	c.metrics.Topics(partitions)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { leave(c.Watch(ctx, src)) })
	watching.Go(func() { c.metrics.WatchTopics(ctx, src.Topics(), c.Retention) })
	for joined := false; ctx.Err() == nil; {
		gen, err := group.Next(ctx)
		if err != nil {
			if final := dial.MarkFinal(err); !joined && retry.IsFinal(final) { // such as no permission to read the group
				leave(fmt.Errorf("joining group %s: %w", c.Config.Kafka.Group, final))
			} else if ctx.Err() == nil {
				c.Logger.Warn("joining the group failed; trying again", "group", c.Config.Kafka.Group, "error", err)
			}
			continue
		}
		joined = true
		c.balancer.Remember(gen)
		ended := make(chan struct{})
		gen.Start(func(genCtx context.Context) {
			defer close(ended)
			if err := c.generation(ctx, genCtx, gen, src); eventlog.IsRefusal(err) {
				leave(err)
			} else if err != nil {
				c.Logger.Warn("generation ended early; joining again", "error", err)
			}
		})
		<-ended // kafka-go does not wait for a function that was started after the generation was over
	}
	if err := group.Close(); err != nil { // waits for the generation to drain, then leaves
		return fmt.Errorf("leaving group %s: %w", c.Config.Kafka.Group, err)
	}
	if err := context.Cause(ctx); eventlog.IsRefusal(err) || retry.IsFinal(err) {
		return err
	}
	return nil
}
