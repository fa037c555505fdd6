package rollup

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/consumer/eventlog"
	"footfall/consumer/names"
	"footfall/consumer/repair"
	"footfall/consumer/rollup/latest"
	"footfall/consumer/rollup/meter"
	"footfall/consumer/rollup/pace"
	"footfall/consumer/rollup/sight"
	"footfall/consumer/store"
	"footfall/internal/budget"
	"footfall/models"
)

// ownership is this process's hold on the partitions of one group generation: what it takes to count their events. Not
// safe for concurrent use.
type ownership struct {
	store       store.Store
	tables      string // which set of tables is counted into
	owner       string
	counts      func(models.Partition) bool // whether the group counts a partition; nil: there is no group
	hasher      eventlog.Hasher
	partitions  map[models.Partition]*owned
	visitors    *sight.Visitors
	latest      *latest.Clicks // nil: not kept
	ledger      *ledger
	names       *names.Lister
	retirements *eventlog.RetirementWatcher
	deadLetters eventlog.DeadLetterWriter
	metrics     *meter.Metrics
	log         *slog.Logger
	doubts      *repair.Doubter
	lostGroup   func() bool // the group has given the partitions to others, or is about to
	groupWaits  func() bool // the others wait for this member, which goes on afterwards; nil: there is no group
	bounds      func(context.Context, []models.Partition) (map[models.Partition]eventlog.Span, error)
	sumAt       func(context.Context, models.Partition, int64) (string, error) // fingerprint of the message at an offset; empty: none
	timeFrom    func(context.Context, models.Partition, int64) (int64, time.Time, error)

	fetched    *budget.Room // what fetchers have read and no chunk has taken yet
	pace       pace.Pace    // of the last chunk
	keysAtOnce int          // that are written at once
	costAtOnce int          // of events that are decided and summed together
	maxSpan    int64        // offsets of one partition in one chunk
	splitAbove int          // events: smaller chunks are never too large, and are not split

	committedAny bool         // a chunk was committed since the partitions were taken
	movedAt      atomic.Int64 // when a flush made progress last, in Unix milliseconds
	progressAt   time.Time    // when progress was noted last
	inDoubt      []models.Key // whose last write has an unknown outcome

	// landedBy is when writes of a predecessor, or our own of unknown outcome, have landed or been dropped. The ledger is
	// not read before.
	landedBy time.Time
}

// partitionsAtOnce bounds what a consumer of many partitions asks of the store at the same time.
const partitionsAtOnce = 16

// each calls do for every partition, several at once, and returns the errors. do costs the store a transaction, and counting waits
// for the last one.
func (o *ownership) each(do func(models.Partition, *owned) error) map[models.Partition]error {
	partitions := o.sorted()
	errs := make([]error, len(partitions))
	var group errgroup.Group
	group.SetLimit(partitionsAtOnce)
	for i, partition := range partitions {
		group.Go(func() error {
			errs[i] = do(partition, o.partitions[partition])
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	failed := map[models.Partition]error{}
	for i, err := range errs {
		if err != nil {
			failed[partitions[i]] = err
		}
	}
	return failed
}

// sorted lists the partitions in a fixed order.
func (o *ownership) sorted() []models.Partition {
	return slices.SortedFunc(maps.Keys(o.partitions), models.Partition.Compare)
}

func (o *ownership) epochs() map[models.Partition]int64 {
	out := make(map[models.Partition]int64, len(o.partitions))
	for partition, p := range o.partitions {
		out[partition] = p.tenure.Epoch
	}
	return out
}

// places are the offsets that may be committed, with their marks.
func (o *ownership) places() map[models.Partition]eventlog.GroupOffset {
	out := make(map[models.Partition]eventlog.GroupOffset, len(o.partitions))
	for partition, p := range o.partitions {
		at := eventlog.GroupOffset{Offset: p.next, Mark: eventlog.Mark{Tables: o.tables}}
		if tail := p.lastTail(); tail.Offset == p.next {
			at.Tail = tail.Sum
		}
		out[partition] = at
	}
	return out
}
