package rollup

import (
	"context"
	"iter"
	"time"

	"footfall/consumer/eventlog"
)

// ahead is where a chunk waits until the one before it is counted.
type ahead struct{ chunks chan *chunk }

func newAhead() *ahead { return &ahead{chunks: make(chan *chunk)} }

// next yields the chunks one by one, and closes done of each when the loop asks for the next.
func (a *ahead) next() iter.Seq[*chunk] {
	return func(yield func(*chunk) bool) {
		for c := range a.chunks {
			more := yield(c)
			close(c.done)
			if !more {
				return
			}
		}
	}
}

// give hands a chunk to the loop over next, and waits until it is taken or stop ends. It returns false if nobody took the
// chunk. That loses nothing: its offsets are not committed, so the next owner reads it again.
func (a *ahead) give(stop context.Context, c *chunk) bool {
	select {
	case a.chunks <- c:
		return true
	case <-stop.Done():
	}
	select {
	case a.chunks <- c:
		return true
	default:
		return false
	}
}

// lookAhead does for a chunk all that need not wait until the one before it is counted: it decides first sights, sums what the events
// add, and lists names. Visitors' rows are stored meanwhile, so it waits for them last. If it fails, the counting goroutine logs the error,
// recovers and tries again.
func (o *ownership) lookAhead(ctx context.Context, c *chunk) {
	if o.sumAhead(ctx, c); c.trouble == nil {
		c.trouble = o.list(ctx, c.added)
	}
	if c.trouble == nil {
		c.trouble = o.decideFirst(ctx, c)
	}
}

// sumAhead decides and sums the events that are not summed yet. Rows of their visitors may be on their way to the store when it returns.
func (o *ownership) sumAhead(ctx context.Context, c *chunk) {
	era, err := o.visitors.DecideAhead(ctx, c.events, c.decided)
	if c.trouble = err; err == nil {
		c.decidedIn(era)
		c.sum()
	}
}

// decideFirst finds the events that are a visitor's first. When it succeeds, the store has the rows of all visitors.
func (o *ownership) decideFirst(ctx context.Context, c *chunk) error {
	era, err := o.visitors.Decide(ctx, c.events, c.decided)
	if err == nil {
		c.decidedIn(era)
	}
	return err
}

// list puts the names of all keys into the lists, before the first of their counters is written. A name that is listed says nothing about
// how far anything is counted: it may be there before the previous chunk is counted.
func (o *ownership) list(ctx context.Context, work *deltas) error {
	if work.listed {
		return nil
	}
	err := o.names.List(ctx, work.named())
	work.listed = err == nil
	return err
}

// prepare collects chunks and looks ahead in them, one chunk ahead of the counting goroutine, until stop ends. Only that goroutine
// writes counters. A visitor's row may be stored before the previous chunk is counted, since first sight is a fact of the log.
func (o *ownership) prepare(stop, work context.Context, items <-chan eventlog.Item, l limits, a *ahead) {
	defer close(a.chunks)
	last := make(chan struct{}) // closed when the chunk before is counted
	close(last)
	written := 0 // bytes of the chunk before
	for more := true; more; {
		var c *chunk
		if c, more = o.collect(stop, work, items, l, last); len(c.spans) == 0 {
			continue
		}
		if c.trouble == nil {
			o.lookAhead(work, c)
		}
		failed, events, begun := c.trouble != nil, c.events.Len(), c.begun // whoever has taken it may change it
		select {
		case <-last:
			written = 0
		default:
		}
		bytes := c.bytes()
		o.noteMemory(bytes + written)
		if !a.give(stop, c) {
			if failed {
				o.forget() // nobody else learns why, and the next generation of the group has the same caches
			}
			return
		}
		o.metrics.HandedOver(events, time.Since(begun))
		last, written = c.done, bytes
		if failed { // visitors are decided in the order of the log: wait for the retry
			select {
			case <-last:
			case <-stop.Done():
			}
		}
	}
}
