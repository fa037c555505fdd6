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

// rareAge is how old what changes rarely may be: whether doubts are open, what is retired, and whether a topic has grown. To read it
// costs more than to read a count.
const rareAge = time.Second

// rare is what changes rarely, as it was at a moment.
type rare struct {
	at             time.Time
	doubts         map[string]int
	retired        models.Millis
	clicks, visits int // the newest generation of each that is recorded; 0: none
}

// rarely reads what changes rarely, or returns what was read within rareAge.
func (r *Reader) rarely(ctx context.Context) (rare, error) {
	now := r.now()
	last := r.last.Load()
	if last != nil && now.Sub(last.at) < rareAge {
		return *last, nil
	}
	fresh := rare{at: now}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { fresh.doubts, err = r.store.Doubts(ctx); return err })
	group.Go(func() (err error) { fresh.retired, err = r.store.RetiredBefore(ctx); return err })
	group.Go(func() (err error) { fresh.clicks, err = r.newest(ctx, r.clicks); return err })
	group.Go(func() (err error) { fresh.visits, err = r.newest(ctx, r.visits); return err })
	if err := group.Wait(); err != nil {
		return rare{}, err
	}
	r.last.Store(&fresh)
	return fresh, nil
}

// asOf reads how far the counts of a topic reach, and what changes rarely. It must be read before the counts and the lists.
func (r *Reader) asOf(ctx context.Context, topic string) (as AsOf, seldom rare, err error) {
	var rows []Progress
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) { rows, err = r.store.Progress(reading); return err })
	group.Go(func() (err error) { seldom, err = r.rarely(reading); return err })
	if err := group.Wait(); err != nil {
		return AsOf{}, rare{}, fmt.Errorf("reading how far the counts reach: %w", err)
	}
	as = reach(relevant(rows, topic), r.now())
	if as.Time.After(seldom.at) { // a next generation may have been made since
		as.Time = seldom.at.UTC().Truncate(time.Millisecond)
	}
	newest := seldom.visits
	if topic == r.clicks {
		newest = seldom.clicks
	}
	whole, err := r.whole(ctx, rows, topic, newest)
	if err != nil {
		return AsOf{}, rare{}, fmt.Errorf("reading how far the counts reach: %w", err)
	}
	if !whole {
		as.Time, as.Counting = time.Time{}, false
	}
	as.Doubts = doubtsOf(seldom.doubts, topic)
	return as, seldom, nil
}

// doubtsOf adds up the doubts of a topic's generations.
func doubtsOf(doubts map[string]int, topic string) (n int) {
	for of, some := range doubts {
		if generation(of, topic) > 0 {
			n += some
		}
	}
	return n
}

// whole tells whether every partition that may have uncounted events has a row, up to the newest generation that is recorded: producers
// write to it before consumers know of it. One without may lag by any time.
func (r *Reader) whole(ctx context.Context, rows []Progress, topic string, newest int) (bool, error) {
	noted := map[int]int{}
	for _, row := range rows {
		if n := generation(row.Partition.Topic, topic); n > 0 {
			noted[n]++
			newest = max(newest, n)
		}
	}
	if len(noted) == 0 {
		return true, nil // no row at all says so itself
	}
	for n := begun(rows, topic); n <= newest; n++ {
		partitions, err := r.partitionsOf(ctx, models.GenerationTopic(topic, n))
		if err != nil || noted[n] < partitions {
			return false, err
		}
	}
	return true, nil
}

// newest is the newest generation of a topic whose partitions are recorded, which consumer grow does before it seals the one before.
func (r *Reader) newest(ctx context.Context, topic string) (n int, err error) {
	for {
		partitions, err := r.partitionsOf(ctx, models.GenerationTopic(topic, n+1))
		if err != nil || partitions == 0 {
			return n, err
		}
		n++
	}
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

// begun is the newest generation of which something was counted, or the first. All of those before it is counted: that is what
// consumers wait for. An offset above 0 would not tell, for a log need not begin at 0.
func begun(rows []Progress, topic string) int {
	n := 1
	for _, row := range rows {
		if !row.EventTime.IsZero() {
			n = max(n, generation(row.Partition.Topic, topic))
		}
	}
	return n
}

// relevant are the rows that tell how far a topic is counted.
func relevant(rows []Progress, topic string) []Progress {
	return since(rows, topic, begun(rows, topic))
}

// since are the rows of a topic's generations from one on.
func since(rows []Progress, topic string, first int) (out []Progress) {
	for _, row := range rows {
		if generation(row.Partition.Topic, topic) >= first {
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
