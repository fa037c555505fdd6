package rollup

import (
	"context"
	"iter"

	"footfall/consumer/eventlog"
)

// ahead is where a chunk waits until the one before it is counted.
type ahead struct{ chunks chan *chunk }

func newAhead() *ahead { return &ahead{chunks: make(chan *chunk)} }

// next hands out the chunks, one at a time, and marks each as done with when the next one is asked for.
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

// give hands a chunk on as soon as it is wanted. When stop ends it waits no longer, and false says that nobody took the
// chunk. That loses nothing: it is not committed, and whoever comes next reads it again.
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

// lookAhead does for a chunk all that need not wait until the one before it is counted: who is new in it, and what that adds up to.
// Should it fail, whoever counts the chunk says what is wrong, recovers and tries again.
func (o *ownership) lookAhead(ctx context.Context, c *chunk) {
	if c.trouble = o.visitors.decide(ctx, c); c.trouble == nil {
		added := deltasOf(c.events)
		c.added = &added
	}
}

// prepare collects chunks and looks ahead in them, one chunk before the counting, until stop ends. Counters are
// written by nobody but the counting goroutine; a visitor's row may well be there before the chunk before is counted, since
// first sight is a fact of the log.
func (o *ownership) prepare(stop, work context.Context, items <-chan eventlog.Item, l limits, a *ahead) {
	defer close(a.chunks)
	last := make(chan struct{}) // of the chunk before
	close(last)
	for more := true; more; {
		var c *chunk
		if c, more = o.collect(stop, items, l, last); len(c.spans) == 0 {
			continue
		}
		o.lookAhead(work, c)
		failed := c.trouble != nil
		if !a.give(stop, c) {
			return
		}
		last = c.done
		if failed { // visitors are decided in the order of the log
			select {
			case <-last:
			case <-stop.Done():
			}
		}
	}
}
