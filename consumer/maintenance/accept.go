package maintenance

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/consumer/eventlog"
	"footfall/consumer/repair"
	"footfall/consumer/store"
	"footfall/models"
)

// RunAcceptGap reports the events that consumers refuse to skip: those that Kafka deleted before they were counted, alone or with their
// topic, and those that somebody moved the group's offset past. It also reports doubts that nobody can settle. If there are at most atMost
// events in all, it records that they stay as they are, and consumers go on after them. With 0 it only reports. It returns an error if the
// group has members.
func RunAcceptGap(ctx context.Context, cfg configs.Consumer, store store.RetireStore, atMost int64, log *slog.Logger, report Reporter) error {
	l, err := eventlog.New(cfg, store, log)
	if err != nil {
		return err
	}
	a := &acceptor{Log: l}
	a.Accepting = true
	src, err := a.Discover(ctx)
	if err != nil {
		return err
	}
	members, err := a.Members(ctx)
	if err == nil && members > 0 {
		err = fmt.Errorf("group %s has %d members: stop all consumers first", cfg.Kafka.Group, members)
	}
	if err != nil {
		return err
	}
	gaps, err := a.gaps(ctx, store, src)
	if err != nil {
		return err
	}
	missing, total, err := a.missing(ctx, src)
	if err != nil {
		return err
	}
	doubts, err := unsettled(ctx, store)
	if err != nil {
		return err
	}
	for _, m := range missing {
		report("%d events of topic %s are not counted; the topic was deleted", m.lost, m.topic)
	}
	for _, g := range gaps {
		total += g.lost.To - g.lost.From
		report("%s are not counted; Kafka has deleted %d of them", g.lost.Of(g.partition), max(0, min(g.lost.To, g.log.From)-g.lost.From))
	}
	for _, d := range doubts {
		total += d.To - d.From
		report("%s", describeDoubt(d))
	}
	switch {
	case total == 0:
		report("no events are missing: consumers go on where they were")
		return nil
	case atMost <= 0:
		report("%d events in all. Nothing was changed: to go on without them, run consumer accept-gap --at-most %d", total, total)
		return nil
	case total > atMost:
		return fmt.Errorf("%d events are missing, more than --at-most %d: nothing was changed", total, atMost)
	}
	for _, g := range gaps {
		if err := a.accept(ctx, g); err != nil {
			return err
		}
	}
	for _, d := range doubts {
		if err := store.SettleDoubt(ctx, d); err != nil {
			return err
		}
	}
	for _, m := range missing {
		if _, err := store.Setting(ctx, eventlog.Fact(m.topic, eventlog.FactCounted), fmt.Sprintf("all but %d events that were deleted", m.lost)); err != nil {
			return err
		}
	}
	report("%d events are accepted as they are; consumers go on after them", total)
	return nil
}

// acceptor accepts gaps, as an owner of their partitions who counts nothing.
type acceptor struct{ *eventlog.Log }

// missingSpan is what is missing in a partition.
type missingSpan struct {
	partition models.Partition
	lost, log eventlog.Span
}

// gaps finds them as consumers do when they take a partition.
func (a *acceptor) gaps(ctx context.Context, db store.RetireStore, src eventlog.Sources) (found []missingSpan, err error) {
	partitions, err := a.AllPartitions(ctx)
	if err != nil {
		return nil, err
	}
	partitions = slices.DeleteFunc(partitions, func(p models.Partition) bool { return !src.Counts(p) })
	places, err := a.GroupOffsets(ctx, a.Config.Kafka.Group, partitions)
	if err != nil {
		return nil, err
	}
	if err := a.Correct(ctx, places); err != nil {
		return nil, err
	}
	bounds, err := eventlog.Bounds(ctx, a.Kafka, partitions)
	if err != nil {
		return nil, err
	}
	for _, p := range partitions {
		committed, err := db.Committed(ctx, p)
		if err != nil {
			return nil, err
		}
		end, sealed := src[p.Topic].End(p.Number)
		if !sealed {
			end = math.MaxInt64
		}
		if reached := max(places[p].Offset, committed); reached > bounds[p].To {
			return nil, eventlog.RecreatedTopic(p, reached)
		}
		if _, lost := eventlog.FindGap(committed, places[p], bounds[p], a.Tables, end); !lost.Empty() {
			found = append(found, missingSpan{p, lost, bounds[p]})
		}
	}
	return found, nil
}

// missingTopic is a generation that was deleted before all of it was counted.
type missingTopic struct {
	topic string
	lost  int64
}

// missing finds the deleted generations, and how many uncounted events they had. It records as counted a generation of which all is counted.
func (a *acceptor) missing(ctx context.Context, src eventlog.Sources) (found []missingTopic, total int64, err error) {
	for _, topic := range slices.Sorted(maps.Keys(src)) {
		s := src[topic]
		if !s.Gone {
			continue
		}
		if accepted, err := a.Store.Setting(ctx, eventlog.Fact(topic, eventlog.FactCounted), ""); err != nil {
			return nil, 0, err
		} else if accepted != "" {
			continue
		}
		if done, err := eventlog.CountedToSeal(ctx, a.Store, s); err != nil {
			return nil, 0, err
		} else if done {
			continue
		}
		lost, err := eventlog.LeftToSeal(ctx, a.Store, s)
		if err != nil {
			return nil, 0, err
		}
		found, total = append(found, missingTopic{topic, lost}), total+lost
	}
	return found, total, nil
}

// accept records in the store that all before the end of a gap is counted. If the last owner crashed, its writes may have been under way:
// what Kafka still has of the gap is put in doubt first.
func (a *acceptor) accept(ctx context.Context, g missingSpan) error {
	tenure, err := eventlog.TakePartition(ctx, a.Store, g.partition, eventlog.NewOwnerName(), a.Logger)
	if err != nil {
		return err
	}
	note := a.Store.Release
	if !tenure.Fresh {
		note = a.Store.Progress // no clean release: the next owner has to check the writes of the one that crashed
		d := repair.NewDoubter(a.Store, repair.NewMetrics(prometheus.NewRegistry()), a.Logger)
		if err := d.Note(ctx, map[models.Partition]eventlog.Span{g.partition: g.lost.Intersect(g.log)}, store.DoubtPredecessor); err != nil {
			return err
		}
	}
	ok, err := note(ctx, tenure, g.lost.To)
	if err == nil && !ok {
		err = eventlog.ErrTaken
	}
	if err != nil {
		return fmt.Errorf("accepting that %s are missing: %w", g.lost.Of(g.partition), err)
	}
	return nil
}

// unsettled lists the doubts that nobody can check any more, of all partitions that were ever counted.
func unsettled(ctx context.Context, db store.Store) (found []store.Doubt, err error) {
	owners, err := db.Owners(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(owners, func(a, b store.Owner) int { return a.Partition.Compare(b.Partition) })
	for _, o := range owners {
		doubts, err := db.Doubts(ctx, o.Partition)
		if err != nil {
			return nil, err
		}
		for _, d := range doubts {
			if d.Reason == store.DoubtUnsettled {
				found = append(found, d)
			}
		}
	}
	return found, nil
}

func describeDoubt(d store.Doubt) string {
	return fmt.Sprintf("%s are in doubt since %s, and cannot be checked: Kafka has deleted them, or a retirement the visitors' rows",
		eventlog.Span{From: d.From, To: d.To}.Of(d.Partition), d.Since.UTC().Format(time.DateTime))
}
