package rebuild

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/configs"
	"footfall/consumer/eventlog"
	"footfall/consumer/maintenance"
	"footfall/consumer/rollup"
	"footfall/consumer/store"
	"footfall/internal/kafka/topics"
	"footfall/models"
)

// rebuildRounds is how often RunRebuild replays to the end of the log and compares the keys that were busy before.
const rebuildRounds = 3

// RunRebuild replays the topics from the beginning of the log to its present end into the tables of fresh, under the group of cfg, which
// must be its own. It takes over the retirements of live, so that the same visits are refused. Then it compares all counters with those of
// live, which group counts. A key is busy if one side has counted its events beyond where the other is: it replays on and compares again,
// a few times. A second run continues where the first stopped.
func RunRebuild(ctx context.Context, cfg configs.Consumer, fresh, live store.CompareStore, group string, log *slog.Logger, report maintenance.Reporter) (maintenance.Comparison, error) {
	r := &rebuild{cfg: cfg, fresh: fresh, log: log, report: report}
	if err := r.prepare(ctx, live); err != nil {
		return maintenance.Comparison{}, err
	}
	compare := &maintenance.Comparer{Live: maintenance.Side{Store: live}, Fresh: maintenance.Side{Store: fresh}, Parts: maintenance.WalkParts, Report: report}
	for round := range rebuildRounds {
		err := r.replay(ctx)
		if err != nil {
			return compare.Found, err
		}
		if compare.Live.At, err = r.consumer.Committed(ctx, live, group, r.partitions); err != nil {
			return compare.Found, err
		}
		if compare.Fresh.At, err = r.consumer.Committed(ctx, fresh, cfg.Kafka.Group, r.partitions); err != nil {
			return compare.Found, err
		}
		if round == 0 {
			report("comparing all keys")
			err = compare.All(ctx, maintenance.Keyspaces, func(models.Key) bool { return true })
		} else {
			err = compare.Again(ctx)
		}
		if err != nil || len(compare.Busy) == 0 {
			return compare.Found, err
		}
	}
	compare.Found.Busy += len(compare.Busy)
	return compare.Found, nil
}

// rebuild is the state of one RunRebuild.
type rebuild struct {
	cfg        configs.Consumer
	fresh      store.CompareStore
	consumer   *rollup.Consumer // of the last replay
	sources    eventlog.Sources
	partitions []models.Partition
	log        *slog.Logger
	report     maintenance.Reporter
}

// prepare finds the partitions to replay, and copies to fresh what live records about them.
func (r *rebuild) prepare(ctx context.Context, live store.CompareStore) (err error) {
	if err := r.renew(); err != nil {
		return err
	}
	if err := r.takeOverFacts(ctx, live); err != nil {
		return err
	}
	src, err := r.consumer.Sources(ctx)
	if err != nil {
		return err
	}
	r.sources = src
	for _, topic := range src.Topics() {
		r.partitions = append(r.partitions, src[topic].All()...)
	}
	bounds, err := r.bounds(ctx)
	if err != nil {
		return err
	}
	var gone int64
	for _, s := range bounds {
		gone += s.From
	}
	if gone > 0 {
		r.report("the log no longer has its first %d events: counts in use may be higher, and visitors that are new in the replay may"+
			" have been counted before", gone)
	}
	if err := r.forgetGroup(ctx); err != nil {
		return err
	}
	// fresh may also have counts of topics of an earlier kafka.topics: each topic is counted once.
	if err := onlyFrom(ctx, r.fresh, "topics", func(topic string) bool { return !strings.HasPrefix(topic, fileTopic) }, r.report); err != nil {
		return err
	}
	return takeOver(ctx, live, r.fresh)
}

// takeOverFacts copies what live records of each generation to fresh: number of partitions and seal. Of a deleted generation it also copies that it is
// counted.
func (r *rebuild) takeOverFacts(ctx context.Context, live store.CompareStore) error {
	for base := range r.consumer.Bases() {
		found, err := topics.Generations(ctx, r.consumer.Kafka, base)
		if err != nil {
			return err
		}
		for n := 1; n <= found[len(found)-1].Number; n++ {
			topic := models.GenerationTopic(base, n)
			facts := []string{eventlog.FactSealed, "partitions"}
			i := slices.IndexFunc(found, func(g topics.Generation) bool { return g.Topic == topic })
			if i < 0 {
				facts = append(facts, eventlog.FactCounted)
			} else if anew, err := createdWithFewer(ctx, live, found[i]); err != nil {
				return err
			} else if anew {
				facts = nil // not the topic that live has counted
			}
			for _, what := range facts {
				value, err := live.Setting(ctx, eventlog.Fact(topic, what), "")
				if err != nil {
					return err
				}
				if _, err := r.fresh.Setting(ctx, eventlog.Fact(topic, what), value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// createdWithFewer tells whether an unsealed topic was recreated: it has fewer partitions than it was counted with.
func createdWithFewer(ctx context.Context, store store.Store, now topics.Generation) (bool, error) {
	sealed, err := eventlog.ReadSeal(ctx, store, now.Topic)
	if err != nil || sealed != nil {
		return false, err
	}
	recorded, err := store.Setting(ctx, eventlog.Fact(now.Topic, "partitions"), "")
	if err != nil || recorded == "" {
		return false, err
	}
	counted, err := strconv.Atoi(recorded)
	return err == nil && now.Partitions < counted, err
}

// bounds returns the first and end offsets of the partitions, cut at the seals.
func (r *rebuild) bounds(ctx context.Context) (map[models.Partition]eventlog.Span, error) {
	bounds, err := eventlog.Bounds(ctx, r.consumer.Kafka, r.partitions)
	for p, s := range bounds {
		if end, sealed := r.sources[p.Topic].End(p.Number); sealed {
			bounds[p] = eventlog.Span{From: min(s.From, end), To: min(s.To, end)}
		}
	}
	return bounds, err
}

// renew makes the consumer of one replay: a consumer runs once.
func (r *rebuild) renew() (err error) {
	r.consumer, err = rollup.NewReplay(r.cfg, r.fresh, r.log)
	return err
}

// forgetGroup deletes the group of an earlier rebuild if fresh is empty: the consumer would start after events that are not counted.
func (r *rebuild) forgetGroup(ctx context.Context) error {
	for _, p := range r.partitions {
		t, err := r.fresh.Committed(ctx, p)
		if err != nil {
			return err
		}
		if t > 0 {
			return nil
		}
	}
	answer, err := r.consumer.Kafka.Client(10*time.Second).DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{r.cfg.Kafka.Group}})
	if err == nil {
		err = answer.Errors[r.cfg.Kafka.Group]
	}
	if err != nil && !errors.Is(err, kafka.GroupIdNotFound) {
		return fmt.Errorf("deleting group %s of an earlier rebuild: %w", r.cfg.Kafka.Group, err)
	}
	return nil
}

// takeOver copies the decided retirements of live to fresh, but not that they are done: fresh still has all visitors' rows.
func takeOver(ctx context.Context, live, fresh store.CompareStore) error {
	notices, err := live.Notices(ctx)
	if err != nil {
		return err
	}
	for _, it := range notices.Retirements {
		if !it.Decided() {
			continue
		}
		if err := fresh.Announce(ctx, it); err != nil {
			return err
		}
		if _, err := fresh.Decide(ctx, it, it.From); err != nil {
			return err
		}
	}
	return nil
}

// replay counts up to the present end of the log.
func (r *rebuild) replay(ctx context.Context) error {
	if err := r.renew(); err != nil {
		return err
	}
	bounds, err := r.bounds(ctx)
	if err != nil {
		return err
	}
	counting, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- r.consumer.Run(counting) }()
	pace := newPace(r.report)
	for {
		at, err := r.consumer.Committed(ctx, r.fresh, r.cfg.Kafka.Group, r.partitions)
		if err != nil {
			stop()
			return errors.Join(err, <-ended)
		}
		var left int64
		for p, s := range bounds {
			left += max(0, s.To-max(at[p], s.From))
		}
		if left == 0 {
			stop()
			return <-ended
		}
		pace.tell(left)
		select {
		case err := <-ended:
			return errors.Join(err, ctx.Err())
		case <-time.After(maintenance.PollInterval):
		}
	}
}

// pace reports how many events are left and how fast they are counted.
type pace struct {
	report maintenance.Reporter
	told   time.Time
	left   int64
}

func newPace(report maintenance.Reporter) *pace { return &pace{report: report, left: -1} }

func (p *pace) tell(left int64) {
	now := time.Now()
	switch {
	case p.left < 0:
		p.report("%d events to count", left)
	case now.Sub(p.told) < maintenance.ProgressEvery:
		return
	default:
		p.report("%d events left, %.0f a second", left, float64(p.left-left)/now.Sub(p.told).Seconds())
	}
	p.told, p.left = now, left
}
