package rollup

import (
	"math"
	"sync/atomic"
	"time"
)

// pace bounds chunks by the time that it takes to count them: a member that has to leave the group finishes the chunk under way, and
// the others wait for it. The zero value does not bound them. Safe for concurrent use.
type pace struct {
	within time.Duration // that counting a chunk may take
	least  int64         // events that a chunk may have at any pace: the last one may have been small, or slow for once
	events atomic.Int64  // that would have been counted within that time, at the pace of the last chunk
}

// leastChunk is pace.least of a consumer.
const leastChunk = 16_000

// limit is how many events the next chunk may have.
func (p *pace) limit() int {
	if p.within == 0 {
		return math.MaxInt
	}
	return int(max(p.events.Load(), p.least))
}

// counted notes how long a chunk took. A larger one takes less for each event.
func (p *pace) counted(events int, took time.Duration) {
	if events > 0 {
		p.events.Store(int64(float64(events) * float64(p.within) / float64(max(took, time.Microsecond))))
	}
}
