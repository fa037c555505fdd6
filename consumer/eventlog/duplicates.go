package eventlog

import (
	"time"
)

// Window knows the event ids of the last offsets of one partition. It is a function of the log alone: read from the same
// offsets, any process decides alike which events are duplicates. Not safe for concurrent use.
type Window struct {
	Reach
	seen      RingIndex[int64] // by offset: when an id occurred, in Unix nanoseconds
	Inherited Inherited        // from the generations before, while that is within reach
	Next      int64            // the offset it is ready for
}

// Reach is how far back an id is looked for. Both bounds must hold: the second one makes sure that the log still has what
// a decision needs, however slowly the log grows.
type Reach struct {
	Offsets int64
	Age     time.Duration // by the times that the messages have in the log
}

// NewWindow makes a window that is ready for the events from offset start on.
func NewWindow(r Reach, start int64) *Window {
	return &Window{Reach: r, seen: NewRingIndex[int64](r.Offsets+1, start), Next: start}
}

// Pass moves on beyond an offset that holds no countable event.
func (w *Window) Pass(offset int64) { w.Next = offset + 1 }

// See notes that id stands at offset, with that message's time, and tells whether it is a duplicate: whether it occurred
// before within reach. Offsets must grow from call to call; times need not.
func (w *Window) See(id Fingerprint, offset int64, at time.Time) bool {
	w.seen.MoveTo(offset)
	before, _, duplicate := w.seen.Find(id)
	if offset > w.Offsets {
		w.Inherited = nil
	}
	if !duplicate && w.Inherited != nil {
		before, duplicate = w.Inherited.find(id, offset, w.Offsets)
	}
	duplicate = duplicate && at.UnixNano()-before <= int64(w.Age)
	w.seen.Put(id, at.UnixNano())
	w.Next = offset + 1
	return duplicate
}
