package rollup

import (
	"context"
	"iter"
)

// ahead is where a chunk waits until the one before it is counted.
type ahead struct {
	chunks chan *chunk
	idle   chan struct{} // has a token while somebody waits for a chunk
}

func newAhead() *ahead { return &ahead{chunks: make(chan *chunk), idle: make(chan struct{}, 1)} }

// next hands out the chunks, one at a time.
func (a *ahead) next() iter.Seq[*chunk] {
	return func(yield func(*chunk) bool) {
		for {
			a.idle <- struct{}{}
			c, ok := <-a.chunks
			if !ok || !yield(c) {
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
	case <-stop.Done():
		select {
		case a.chunks <- c:
		default:
			return false
		}
	}
	select {
	case <-a.idle: // whoever took it has put a token there before, unless collect has it
	default:
	}
	return true
}

// wait returns when the last chunk is counted, or stop ends.
func (a *ahead) wait(stop context.Context) {
	select {
	case token := <-a.idle:
		a.idle <- token
	case <-stop.Done():
	}
}

// prepare collects chunks and decides who is new in them, one chunk ahead of the counting, until stop ends. Counters are
// written by nobody but the counting goroutine; a visitor's row may well be there before the chunk before is counted, since
// first sight is a fact of the log.
func (o *ownership) prepare(stop, work context.Context, items <-chan item, l limits, a *ahead) {
	defer close(a.chunks)
	for more := true; more; {
		var c *chunk
		if c, more = o.collect(stop, items, l, a.idle); len(c.spans) == 0 {
			continue
		}
		failed := o.visitors.decide(work, c) != nil // whoever counts it tries again, and says what is wrong
		if !a.give(stop, c) {
			return
		}
		if failed {
			a.wait(stop) // visitors are decided in the order of the log
		}
	}
}
