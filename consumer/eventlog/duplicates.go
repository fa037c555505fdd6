package eventlog

import (
	"sync/atomic"
	"time"
)

// Window knows the event ids of the last offsets of one partition. It depends on the log alone: every process that reads the same
// offsets finds the same duplicates. Not safe for concurrent use.
type Window struct {
	Reach
	seen      RingIndex[int64] // by offset: when an id occurred, in Unix nanoseconds
	Inherited Inherited        // ids of the generations before; nil once they are out of reach
	inherited atomic.Int64     // how many those are: Length may be asked while a fetcher reads them
	Next      int64            // the next offset that it expects
}

// Reach is how far back an id is looked for. A duplicate lies within both bounds. The age exists for slow topics: Kafka may delete
// messages before the window has filled.
type Reach struct {
	Offsets int64
	Age     time.Duration // by the messages' timestamps
}

// NewWindow makes a window that expects the events from offset start on.
func NewWindow(r Reach, start int64) *Window {
	return &Window{Reach: r, seen: NewRingIndex[int64](r.Offsets+1, start), Next: start}
}

// Length is how many ids there is room for now: it grows up to the reach. Until then it includes inherited ids.
func (w *Window) Length() int { return w.seen.Length() + int(w.inherited.Load()) }

func (w *Window) inherit(ids Inherited) {
	w.Inherited = ids
	w.inherited.Store(int64(len(ids)))
}

// Pass skips an offset that holds no countable event.
func (w *Window) Pass(offset int64) { w.Next = offset + 1 }

// See adds the id at offset, with its message's time, and tells whether it is a duplicate: whether it occurred before within reach.
// Offsets must grow from call to call, or See panics. Times need not.
func (w *Window) See(id Fingerprint, offset int64, at time.Time) bool {
	w.seen.MoveTo(offset)
	before, _, duplicate := w.seen.Find(id)
	if w.Inherited != nil && offset > w.Offsets {
		w.inherit(nil)
	}
	if !duplicate {
		before, duplicate = w.Inherited.find(id, offset, w.Offsets)
	}
	duplicate = duplicate && at.UnixNano()-before <= int64(w.Age)
	w.seen.Put(id, at.UnixNano())
	w.Next = offset + 1
	return duplicate
}
