package rollup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/models"
)

const (
	idleInterval = 5 * time.Second // how often progressNotes writes while nothing is counted
	noteTimeout  = 2 * time.Second // for each of its writes: the lag is not updated meanwhile
)

// progressNotes tells readers of counts how far the partitions are. It runs beside the counting, which neither waits for it nor needs it.
type progressNotes struct {
	last    []store.Progress // as they were written
	failing bool             // which was logged
}

// write stores the rows if something was counted since the last time, or if that was long ago.
func (n *progressNotes) write(ctx context.Context, o *ownership, rows []store.Progress) {
	same := slices.EqualFunc(n.last, rows, func(a, b store.Progress) bool {
		return a.Counted == b.Counted && b.At.Sub(a.At) < idleInterval
	})
	if same {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	err := o.store.NoteProgress(ctx, rows)
	if err == nil {
		n.last = rows
	} else if !n.failing {
		o.log.Warn("noting progress for readers failed: until it succeeds, they take the counts for older than they are", "error", err)
	}
	n.failing = err != nil
}

// progressInterval is how often an owner notes in the store how far it is.
const progressInterval = 30 * time.Second

// progress notes in the store how far every partition is counted: every progressInterval, and at once when one is counted to its seal,
// since the topic's next generation waits for that. It returns an error if another consumer has taken one.
func (o *ownership) progress(ctx context.Context) error {
	atEnd := func(p models.Partition) bool { return o.partitions[p].atEnd() }
	if time.Since(o.progressAt) < progressInterval && !slices.ContainsFunc(o.sorted(), atEnd) {
		return nil
	}
	o.progressAt = time.Now()
	lost := o.each(func(partition models.Partition, p *owned) error {
		ok, err := o.store.Progress(ctx, p.tenure, p.reached())
		switch {
		case err != nil:
			o.log.Warn("noting progress failed", "topic", partition.Topic, "partition", partition.Number, "error", err)
		case !ok:
			return fmt.Errorf("partition %d of %s was %w", partition.Number, partition.Topic, eventlog.ErrTaken)
		default:
			p.confirmed = p.next
			p.noted.Store(p.reached())
		}
		return nil
	})
	if len(lost) == 0 {
		return o.stillAgree(ctx)
	}
	doubted := o.doubts.DoubtOnExit(ctx, o.unconfirmed(lost))
	return errors.Join(append(slices.Collect(maps.Values(lost)), doubted)...)
}

// unconfirmed is what we counted of lost partitions, at least in part, since the store last confirmed that we own them.
func (o *ownership) unconfirmed(lost map[models.Partition]error) map[models.Partition]eventlog.Span {
	spans := map[models.Partition]eventlog.Span{}
	for partition := range lost {
		p := o.partitions[partition]
		spans[partition] = eventlog.Span{From: p.confirmed, To: max(p.next, p.leftTo)}
	}
	return spans
}
