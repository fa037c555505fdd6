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

// rebuildRounds is how often keys that were counted on meanwhile are counted up to the end of the log again and compared.
const rebuildRounds = 3

// RunRebuild counts the topics from the beginning of the log into the tables of fresh, under the group of cfg, which nobody else
// has, up to the end that the log has now. Then it compares all counters with those of live, which group counts. A key can be
// compared if neither side has counted an event of it beyond what the other has seen all of; others are caught up with and tried
// again. What was refused stays so: the retirements of live are taken over.
func RunRebuild(ctx context.Context, cfg configs.Consumer, fresh, live store.CompareStore, group string, log *slog.Logger, report func(string, ...any)) (maintenance.Comparison, error) {
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

// rebuild is one under way.
type rebuild struct {
	cfg        configs.Consumer
	fresh      store.CompareStore
	consumer   *rollup.Consumer // of the last replay
	sources    eventlog.Sources
	partitions []models.Partition
	log        *slog.Logger
	report     func(string, ...any)
}

// prepare finds out what there is to replay.
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
		r.report("the log no longer holds its first %d events: the counts in use may be higher, and visitors may have been counted"+
			" before", gone)
	}
	if err := r.forgetGroup(ctx); err != nil {
		return err
	}
	// A topic that was counted before, under another kafka.topics, may be there as well: each is counted once.
	if err := onlyFrom(ctx, r.fresh, "topics", func(topic string) bool { return !strings.HasPrefix(topic, fileTopic) }, r.report); err != nil {
		return err
	}
	return takeOver(ctx, live, r.fresh)
}

// takeOverFacts lets fresh know of each generation what live knows: the rule of its duplicates, its partitions and its seal; and that it is
// counted, if it can no longer be.
func (r *rebuild) takeOverFacts(ctx context.Context, live store.CompareStore) error {
	for base := range r.consumer.Bases() {
		found, err := topics.Generations(ctx, r.consumer.Kafka, base)
		if err != nil {
			return err
		}
		for n := 1; n <= found[len(found)-1].Number; n++ {
			topic := models.GenerationTopic(base, n)
			if err := eventlog.CopyRule(ctx, live, r.fresh, topic); err != nil {
				return err
			}
			facts := []string{eventlog.FactSealed, "partitions"}
			i := slices.IndexFunc(found, func(g topics.Generation) bool { return g.Topic == topic })
			if i < 0 {
				facts = append(facts, eventlog.FactCounted)
			} else if anew, err := createdWithFewer(ctx, live, found[i]); err != nil {
				return err
			} else if anew {
				facts = nil // it is another topic than live has counted
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

// createdWithFewer tells whether a topic that is not sealed has fewer partitions than it was counted with: it was created anew.
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

// bounds are those of the log, up to the seals.
func (r *rebuild) bounds(ctx context.Context) (map[models.Partition]eventlog.Span, error) {
	bounds, err := eventlog.Bounds(ctx, r.consumer.Kafka, r.partitions)
	for p, s := range bounds {
		if end, sealed := r.sources[p.Topic].End(p.Number); sealed {
			bounds[p] = eventlog.Span{From: min(s.From, end), To: min(s.To, end)}
		}
	}
	return bounds, err
}

// renew makes a consumer for one replay.
func (r *rebuild) renew() (err error) {
	r.consumer, err = rollup.NewReplay(r.cfg, r.fresh, r.log)
	return err
}

// forgetGroup deletes the offsets of an earlier rebuild if its tables are gone: they would hide what is not counted.
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

// takeOver lets fresh refuse what live refuses. Its rows are all there: nothing is done with.
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

// replay counts up to where the log ends now.
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

// pace tells how fast something goes that counts down.
type pace struct {
	report func(string, ...any)
	told   time.Time
	left   int64
}

func newPace(report func(string, ...any)) *pace { return &pace{report: report, left: -1} }

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
