package meter

import "time"

// bins is how many intervals Times has. An interval is a sixteenth of the time that the messages cover, or less, so its middle is off by
// a 32nd at the most.
const bins = 64

// latest is the latest time that Times tells, in the year 2248: senders may write any number.
const latest = 1 << 43

// Times is about when the messages of one partition in a chunk were written: how many in each of 64 intervals of the same length. It never
// grows: a message that lies outside doubles the intervals. The zero value is empty. Not safe for concurrent use.
type Times struct {
	counts [bins]uint32
	begin  int64 // of the first interval, in Unix milliseconds
	shift  uint  // an interval is 1<<shift milliseconds
	n      uint64
	sum    int64 // of all times after origin, in milliseconds: the exact ones
	origin int64 // the first message's
	newest int64
}

// Add notes when a message was written. A message without a time, which old clients may write, is left out.
func (t *Times) Add(at time.Time) {
	ms := min(at.UnixMilli(), latest)
	if ms <= 0 { // also the zero time
		return
	}
	if t.n == 0 {
		t.begin, t.origin = ms, ms
	}
	i := (ms - t.begin) >> t.shift
	if uint64(i) >= bins {
		t.widen(ms)
		i = (ms - t.begin) >> t.shift
	}
	t.counts[i]++
	t.n++
	t.sum += ms - t.origin
	t.newest = max(t.newest, ms)
}

// widen doubles the intervals until ms is within them.
func (t *Times) widen(ms int64) {
	for uint64((ms-t.begin)>>t.shift) >= bins {
		var half [bins]uint32
		into := half[:]
		if ms < t.begin { // grow towards the past: the intervals so far become the second half
			into = half[bins/2:]
			t.begin -= bins << t.shift
		}
		for i, n := range t.counts {
			into[i/2] += n
		}
		t.counts = half
		t.shift++
	}
}

// Newest is the latest time, zero if there is none.
func (t *Times) Newest() time.Time {
	if t.newest == 0 {
		return time.Time{}
	}
	return time.UnixMilli(t.newest)
}
