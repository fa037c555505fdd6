package rollup

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"

	"footfall/configs"
	"footfall/consumer/store"
	"footfall/models"
)

// RunAcceptGap tells which events consumers refuse to leave out: those that Kafka has deleted before they were counted, alone or with their
// topic, and those that the group was moved past. If there are at most so many, it writes down that they are never counted, and consumers go on after them;
// with 0 it only tells. Nobody may be counting meanwhile.
func RunAcceptGap(ctx context.Context, cfg configs.Consumer, store store.RetireStore, atMost int64, log *slog.Logger, report func(string, ...any)) error {
	c, err := New(cfg, store, prometheus.NewRegistry(), log)
	if err != nil {
		return err
	}
	defer func() { _ = c.dead.close() }()
	c.accepting = true
	src, err := c.lookAround(ctx)
	if err != nil {
		return err
	}
	members, err := c.members(ctx)
	if err == nil && members > 0 {
		err = fmt.Errorf("group %s has %d members: stop all consumers first", cfg.Kafka.Group, members)
	}
	if err != nil {
		return err
	}
	gaps, err := c.gaps(ctx, store, src)
	if err != nil {
		return err
	}
	missing, total, err := c.missing(ctx, src)
	if err != nil {
		return err
	}
	for _, m := range missing {
		report("%d events of topic %s are not counted; the topic was deleted", m.lost, m.topic)
	}
	for _, g := range gaps {
		total += g.lost.to - g.lost.from
		report("%s are not counted; Kafka has deleted %d of them", g.lost.of(g.partition), max(0, min(g.lost.to, g.log.from)-g.lost.from))
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
		if err := c.accept(ctx, g); err != nil {
			return err
		}
	}
	for _, m := range missing {
		if _, err := store.Setting(ctx, fact(m.topic, factCounted), fmt.Sprintf("all but %d events that were deleted", m.lost)); err != nil {
			return err
		}
	}
	report("%d events will never be counted; consumers go on after them", total)
	return nil
}

// gap is what is missing in a partition.
type gap struct {
	partition models.Partition
	lost, log span
}

// gaps finds them as consumers do when they take a partition.
func (c *Consumer) gaps(ctx context.Context, db store.RetireStore, src sources) (found []gap, err error) {
	partitions, err := c.everyPartition(ctx)
	if err != nil {
		return nil, err
	}
	partitions = slices.DeleteFunc(partitions, func(p models.Partition) bool { return !src.counts(p) })
	places, err := c.places(ctx, c.cfg.Kafka.Group, partitions)
	if err != nil {
		return nil, err
	}
	bounds, err := logBounds(ctx, c.kafka, partitions)
	if err != nil {
		return nil, err
	}
	for _, p := range partitions {
		committed, err := db.Committed(ctx, p)
		if err != nil {
			return nil, err
		}
		own := &owned{tenure: store.Tenure{Partition: p, Committed: committed}, next: places[p].offset, said: places[p].mark}
		own.end, own.sealed = src[p.Topic].end(p.Number)
		if reached := max(own.next, committed); reached > bounds[p].to {
			return nil, recreated(p, reached)
		}
		if _, lost := own.gap(bounds[p], c.tables); !lost.empty() {
			found = append(found, gap{p, lost, bounds[p]})
		}
	}
	return found, nil
}

// missingTopic is a generation that was deleted before all of it was counted.
type missingTopic struct {
	topic string
	lost  int64
}

// missing finds the generations that consumers miss, and how many events they had that are not counted. One of which nothing is missing, but
// nobody said so, is recorded as counted.
func (c *Consumer) missing(ctx context.Context, src sources) (found []missingTopic, total int64, err error) {
	for _, topic := range slices.Sorted(maps.Keys(src)) {
		s := src[topic]
		if !s.gone {
			continue
		}
		if done, err := countedToSeal(ctx, c.store, s); done || err != nil {
			if err != nil {
				return nil, 0, err
			}
			continue
		}
		lost, err := leftToSeal(ctx, c.store, s)
		if err != nil {
			return nil, 0, err
		}
		found, total = append(found, missingTopic{topic, lost}), total+lost
	}
	return found, total, nil
}

// accept says in the store that all before the end of a gap is counted. What an owner that crashed may have had under way there is in
// doubt first.
func (c *Consumer) accept(ctx context.Context, g gap) error {
	own := &owned{}
	o := &ownership{
		store: c.store, owner: c.owner, partitions: map[models.Partition]*owned{g.partition: own}, ledger: c.ledger, metrics: c.metrics,
		log: c.log, number: freshNumber,
	}
	if err := o.take(ctx); err != nil {
		return err
	}
	note := c.store.Release
	if !own.tenure.Fresh {
		note = c.store.Progress // whoever comes next has to look after the one who crashed
		if err := o.doubt(ctx, map[models.Partition]span{g.partition: g.lost.intersect(g.log)}, store.DoubtPredecessor); err != nil {
			return err
		}
	}
	ok, err := note(ctx, own.tenure, g.lost.to)
	if err == nil && !ok {
		err = errTaken
	}
	if err != nil {
		return fmt.Errorf("accepting that %s are missing: %w", g.lost.of(g.partition), err)
	}
	return nil
}

// members asks how many the group has.
func (c *Consumer) members(ctx context.Context) (n int, err error) {
	id := c.cfg.Kafka.Group
	groups, err := c.kafka.Client(10*time.Second).DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{id}})
	if err != nil {
		return 0, fmt.Errorf("asking for the members of group %s: %w", id, err)
	}
	for _, g := range groups.Groups {
		n += len(g.Members)
	}
	return n, nil
}
