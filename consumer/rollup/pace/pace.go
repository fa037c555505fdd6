// Package pace bounds chunks by the time that it takes to count them.
package pace

import (
	"math"
	"sync/atomic"
	"time"
)

// Pace tells how many events a chunk may have: an event waits until the chunk before its own is counted, and then for its own. The zero value does not bound them. Safe for concurrent use.
type Pace struct {
	Within time.Duration // that counting a chunk may take; 0: any time
	Least  int           // events that a chunk may have at any pace: the last one may have been small, or slow for once
	events atomic.Int64  // that would have been counted within that time, at the pace of the last chunk
	took   atomic.Int64  // nanoseconds that the last chunk took
}

// Limit is how many events the next chunk may have.
func (p *Pace) Limit() int {
	if p.Within == 0 {
		return math.MaxInt
	}
	return max(int(p.events.Load()), p.Least)
}

// Patience is how long a chunk that could be counted waits for the next event of those that are on their way: 20 ms, or a twentieth of what the last
// chunk took. A machine on which counting takes long is busy, and hands events on with gaps. A chunk without them would cost as much as the whole one.
func (p *Pace) Patience() time.Duration {
	return max(20*time.Millisecond, time.Duration(p.took.Load())/20)
}

// Counted notes how long a chunk took. A larger one takes less for each event.
func (p *Pace) Counted(events int, took time.Duration) {
	p.took.Store(int64(took))
	if events > 0 {
		p.events.Store(int64(float64(events) * float64(p.Within) / float64(max(took, time.Microsecond))))
	}
}
