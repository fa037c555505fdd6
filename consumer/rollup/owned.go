package rollup

import (
	"sync/atomic"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/rollup/meter"
	"footfall/consumer/store"
	"footfall/models"
)

// owned is one partition: how far it is counted, and what is known of its earlier owners.
type owned struct {
	// tenure is what the store answered when the partition was taken: epoch, predecessor, how far it was counted.
	tenure store.Tenure
	// said is the mark beside the group's offset when the partition was taken; committed is that offset.
	said      eventlog.Mark
	committed int64

	// restored: the group was ahead of the tables when the partition was taken.
	restored bool

	// next is where counting goes on: every event below is counted. counted is the same, for other goroutines to read.
	next    int64
	counted atomic.Int64
	// countedTime is Kafka's time of the last message that was counted, in Unix milliseconds; 0: not known.
	countedTime atomic.Int64
	// waiting knows how long events wait.
	waiting meter.Waiting
	// collected is how far chunks have been collected; 0: not at all. Only the goroutine that collects uses it.
	collected int64
	// highWater is the end of the log as last seen. A ledger that reaches beyond it belongs to another log.
	highWater int64
	// window has the ids of the last offsets, by which duplicates are found.
	window *eventlog.Window
	// sealed: the topic went on as its next generation, and this partition ends at end for good.
	sealed bool
	end    int64

	// tail is the last message that was counted, for other goroutines to read, too; kept is the one that the store knows.
	tail atomic.Pointer[store.Tail]
	kept store.Tail
	// noted is how far the store knows that the partition is counted.
	noted atomic.Int64
	// confirmed is how far it was counted when the store last confirmed that we own it.
	confirmed int64

	// leftTo is the end of a chunk that was left; 0: none. Some keys may have events from next up to here.
	leftTo int64

	// follows: the epoch follows one of our own, so nobody else wrote in between.
	follows bool
	// uncertain: writes of events below this offset may still land, so their keys are read from every replica.
	uncertain int64
	// uncountedFrom: nobody had counted anything from this offset on when this epoch was taken; 0: not known.
	uncountedFrom int64
	// unknown is the end of the log if the group does not tell how far the last owner was; else 0.
	unknown int64
}

// lastTail is the last message that was counted, zero if that is not known.
func (p *owned) lastTail() store.Tail {
	if tail := p.tail.Load(); tail != nil {
		return *tail
	}
	return store.Tail{}
}

// lastTime is Kafka's time of the last message that was counted, zero if that is not known.
func (p *owned) lastTime() time.Time {
	if ms := p.countedTime.Load(); ms != 0 {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}

// reached is how far the partition was ever counted. That is beyond next if the group's offset was set back. An owner that noted next
// and left could make its successor believe that the partition was never counted, and not read the ledger.
func (p *owned) reached() int64 { return max(p.next, p.tenure.Committed) }

// uncertain tells whether writes of a predecessor, or our own of unknown outcome, may touch the events in spans.
func (o *ownership) uncertain(spans map[models.Partition]eventlog.Span) bool {
	for p, s := range spans {
		if s.From < o.partitions[p].uncertain {
			return true
		}
	}
	return false
}

// untouched tells that no key has a ledger row of another epoch that reaches into the coming events, nor one that a predecessor
// left under this epoch. That holds if each partition was never counted before, or has a new epoch and is past all that anybody
// may have counted before.
func (o *ownership) untouched() bool {
	for _, p := range o.partitions {
		first := !p.restored && p.tenure.Fresh && store.IsFirstEpoch(p.tenure.Epoch) && p.tenure.Committed == 0
		behind := !p.tenure.Fresh && p.uncountedFrom > 0 && p.next >= p.uncountedFrom
		if !first && !behind {
			return false
		}
	}
	return true
}
