package stats

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/models"
)

// silentAfter is how old a note of progress may be while its consumer is said to count. One that is idle notes every five seconds.
const silentAfter = 15 * time.Second

// rareAge is how old what changes rarely may be: whether doubts are open, and what is retired. To read it costs more than to read a count.
const rareAge = time.Second

// rare is what changes rarely, as it was at a moment.
type rare struct {
	at      time.Time
	doubts  map[string]int
	retired models.Millis
}

// rarely reads what changes rarely, or returns what was read within rareAge.
func (r *Reader) rarely(ctx context.Context) (rare, error) {
	now := r.now()
	if last := r.last.Load(); last != nil && now.Sub(last.at) < rareAge {
		return *last, nil
	}
	fresh := rare{at: now}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { fresh.doubts, err = r.store.Doubts(ctx); return err })
	group.Go(func() (err error) { fresh.retired, err = r.store.RetiredBefore(ctx); return err })
	if err := group.Wait(); err != nil {
		return rare{}, err
	}
	r.last.Store(&fresh)
	return fresh, nil
}

// asOf reads how far the counts of a topic reach, and before when they are final. It must be read before the counts.
func (r *Reader) asOf(ctx context.Context, topic string) (as AsOf, final models.Millis, err error) {
	var rows []Progress
	var seldom rare
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) { rows, err = r.store.Progress(reading); return err })
	group.Go(func() (err error) { seldom, err = r.rarely(reading); return err })
	if err := group.Wait(); err != nil {
		return AsOf{}, 0, fmt.Errorf("reading how far the counts reach: %w", err)
	}
	as = reach(relevant(rows, topic), r.now())
	whole, err := r.whole(ctx, rows, topic)
	if err != nil {
		return AsOf{}, 0, fmt.Errorf("reading how far the counts reach: %w", err)
	}
	if !whole {
		as.Time, as.Counting = time.Time{}, false
	}
	for of, n := range seldom.doubts {
		if generation(of, topic) > 0 {
			as.Doubts += n
		}
	}
	return as, seldom.retired, nil
}

// whole tells whether every partition of a topic's newest generation has a row. One without may lag by any time: a consumer of an
// earlier version notes nothing.
func (r *Reader) whole(ctx context.Context, rows []Progress, topic string) (bool, error) {
	newest := Progress{}
	for _, row := range rows {
		if generation(row.Partition.Topic, topic) > generation(newest.Partition.Topic, topic) {
			newest = row
		}
	}
	if newest.Partition.Topic == "" {
		return true, nil // no row at all says so itself
	}
	noted := 0
	for _, row := range rows {
		if row.Partition.Topic == newest.Partition.Topic {
			noted++
		}
	}
	n, err := r.partitionsOf(ctx, newest.Partition.Topic)
	return noted >= n, err
}

// partitionsOf asks the store once: the number never changes after it was recorded.
func (r *Reader) partitionsOf(ctx context.Context, topic string) (int, error) {
	if n, known := r.partitions.Load(topic); known {
		return n.(int), nil
	}
	n, err := r.store.Partitions(ctx, topic)
	if err == nil && n > 0 {
		r.partitions.Store(topic, n)
	}
	return n, err
}

// generation is the number of a topic's generation, 0 if it is of another topic.
func generation(of, topic string) int {
	if of == topic {
		return 1
	}
	if base, n := models.SplitGeneration(of); base == topic {
		return n
	}
	return 0
}

// relevant are the rows that tell how far a topic is counted: those of its newest generation. Nothing of it is counted before all of
// the generation before is, which may still be under way: until something is, what is left of earlier ones counts as well.
func relevant(rows []Progress, topic string) (out []Progress) {
	newest, begun := 0, false
	for _, row := range rows {
		newest = max(newest, generation(row.Partition.Topic, topic))
	}
	for _, row := range rows {
		begun = begun || generation(row.Partition.Topic, topic) == newest && row.Counted > 0
	}
	for _, row := range rows {
		n := generation(row.Partition.Topic, topic)
		if n > 0 && (n == newest || !begun && row.Counted < row.LogEnd) {
			out = append(out, row)
		}
	}
	return out
}

// reach puts together what the partitions' rows tell.
func reach(rows []Progress, now time.Time) AsOf {
	as := AsOf{Counting: len(rows) > 0}
	for i, row := range rows {
		upTo := row.At
		if row.Counted < row.LogEnd {
			if row.EventTime.Before(upTo) { // a producer's clock may be ahead
				upTo = row.EventTime
			}
			as.Lag += row.LogEnd - row.Counted
		}
		if i == 0 || upTo.Before(as.Time) {
			as.Time = upTo // a zero one, where nothing was counted yet, is before all
		}
		as.Counting = as.Counting && now.Sub(row.At) < silentAfter
	}
	return as
}
