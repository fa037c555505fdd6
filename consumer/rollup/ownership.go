package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/consumer/store"
	"footfall/models"
)

// ownership is this process's hold on the partitions of one group generation: what it takes to count their events. Not
// safe for concurrent use.
type ownership struct {
	store      store.Store
	tables     string // which these are
	owner      string
	counts     func(models.Partition) bool // whether somebody of the group does; nil: there is no group
	hasher     hasher
	partitions map[models.Partition]*owned
	visitors   *visitors
	latest     *latest // nil: not kept
	ledger     *ledger
	board      *board
	dead       deadLetters
	metrics    *metrics
	log        *slog.Logger
	number     func() int64 // one that no other has
	ended      func() bool  // the group has given the partitions to others, or is about to
	bounds     func(context.Context, []models.Partition) (map[models.Partition]span, error)
	sumAt      func(context.Context, models.Partition, int64) (string, error) // of the message at an offset; empty: there is none

	maxSpan    int64 // offsets of one partition in one chunk
	splitAbove int   // events: smaller chunks are not split, they are not too large for anything

	noted   time.Time    // when progress was noted last
	doubted []models.Key // whose last write is of unknown outcome

	// settled is when writes of a predecessor, or our own of unknown outcome, have landed or been dropped. The ledger is
	// not read before.
	settled time.Time
}

// owned is one partition.
type owned struct {
	tenure    store.Tenure
	said      mark         // beside the group's offset, when it was taken,
	committed int64        // which was this
	tail      store.Tail   // the last message that was counted
	kept      store.Tail   // the one that the store knows
	next      int64        // every event below is counted
	collected int64        // every event below is in a chunk, or was; 0: none is yet. For whoever collects
	counted   atomic.Int64 // the same, for those who only look
	highWater int64
	window    *window
	sealed    bool
	end       int64        // where it ends for good, if it is sealed
	noted     atomic.Int64 // how far the store knows that it is counted
	follows   bool         // the epoch follows one that was ours
	uncertain int64        // writes that touch events below may still land: keys are read thoroughly
	clear     int64        // nobody counted anything from here on before this epoch was taken; 0: that is not known
	confirmed int64        // how far it was when the store last said that it is ours
	unknown   int64        // where the group does not say how far the last owner was: the end of the log; else 0
}

// settleMargin is added to the store's write timeout, which runs by another clock and from another moment.
const settleMargin = time.Second

// partitionsAtOnce bounds what a consumer of many partitions asks of the store at the same time.
const partitionsAtOnce = 16

// each does something for every partition that takes the store a transaction, and returns where that failed. Several are under
// way at once: nothing is counted until the last one is done.
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
	_ = group.Wait() // they are in errs
	failed := map[models.Partition]error{}
	for i, err := range errs {
		if err != nil {
			failed[partitions[i]] = err
		}
	}
	return failed
}

// unconfirmed is what was counted of lost partitions since the store last said that they are ours.
func (o *ownership) unconfirmed(lost map[models.Partition]error) map[models.Partition]span {
	spans := map[models.Partition]span{}
	for partition := range lost {
		spans[partition] = span{o.partitions[partition].confirmed, o.partitions[partition].next}
	}
	return spans
}

// take takes every partition, and forgets the positions read under former epochs. It goes on trying until the store answers or ctx
// ends.
func (o *ownership) take(ctx context.Context) error {
	o.ledger.drop()
	return o.takeAll(ctx)
}

func (o *ownership) takeAll(ctx context.Context) error {
	failed := o.each(func(partition models.Partition, p *owned) error { return o.takeOne(ctx, partition, p) })
	for _, err := range failed {
		return err // ctx has ended: one tells as much as all
	}
	for _, p := range o.partitions {
		if !p.tenure.Fresh {
			o.settle()
			break
		}
	}
	return nil
}

func (o *ownership) takeOne(ctx context.Context, partition models.Partition, p *owned) error {
	for attempt := 0; ; attempt++ {
		t, err := o.store.Take(ctx, partition, o.owner)
		if err == nil {
			if p.follows = t.Before == p.tenure.Epoch && !t.Fresh; p.tenure.Epoch > 0 && !p.follows {
				p.clear = math.MaxInt64 // somebody else was here meanwhile
			}
			p.tenure = t
			p.noted.Store(t.Committed)
			o.metrics.took(t)
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		o.log.Warn("taking partition failed; trying again", "attempt", attempt+1, "error", err)
		if err := sleep(ctx, backoff(attempt)); err != nil {
			return err
		}
	}
}

// settle puts off reading the ledger until what is under way has landed or been dropped.
func (o *ownership) settle() {
	if wait := o.store.WriteTimeout(); wait > 0 {
		o.settled = time.Now().Add(wait + settleMargin)
	}
}

// release says for every partition that all is written. A successor then goes on under the same epoch, without waiting.
// Where somebody else has taken the partition already, the last spans were perhaps counted by both: they are in doubt.
func (o *ownership) release(ctx context.Context) error {
	lost := o.each(func(partition models.Partition, p *owned) error {
		o.noteTail(ctx, partition, p)
		ok, err := o.store.Release(ctx, p.tenure, p.reached())
		if err == nil && !ok {
			err = errTaken
		}
		if err != nil {
			o.log.Warn("partition was not released; its next owner takes a new epoch", "topic", partition.Topic,
				"partition", partition.Number, "epoch", p.tenure.Epoch, "error", err)
		}
		return err
	})
	return o.lastWord(ctx, o.unconfirmed(lost))
}

// reached is how far the partition is counted. Where the group's offset was set back that is further than we are: one who says less, and
// leaves before it got there, would have its successor take the partition for one that was never counted, and not read the ledger.
func (p *owned) reached() int64 { return max(p.next, p.tenure.Committed) }

// errTaken says that a partition belongs to somebody else.
var errTaken = errors.New("taken by another owner")

// progressInterval is how often an owner notes in the store how far it is.
const progressInterval = 30 * time.Second

// progress notes how far every partition is, now and then, and at once where one is counted to its end: the next generation waits for
// that. It returns an error if somebody else has taken one.
func (o *ownership) progress(ctx context.Context) error {
	atEnd := func(p models.Partition) bool { return o.partitions[p].atEnd() }
	if time.Since(o.noted) < progressInterval && !slices.ContainsFunc(o.sorted(), atEnd) {
		return nil
	}
	o.noted = time.Now()
	lost := o.each(func(partition models.Partition, p *owned) error {
		o.noteTail(ctx, partition, p)
		ok, err := o.store.Progress(ctx, p.tenure, p.reached())
		switch {
		case err != nil:
			o.log.Warn("noting progress failed", "topic", partition.Topic, "partition", partition.Number, "error", err)
		case !ok:
			return fmt.Errorf("partition %d of %s was %w", partition.Number, partition.Topic, errTaken)
		default:
			p.confirmed = p.next
			p.noted.Store(p.reached())
		}
		return nil
	})
	if len(lost) == 0 {
		return o.stillAgree(ctx)
	}
	doubted := o.lastWord(ctx, o.unconfirmed(lost))
	return errors.Join(append(slices.Collect(maps.Values(lost)), doubted)...)
}

// uncertain tells whether writes of a predecessor, or our own of unknown outcome, may touch the events in spans.
func (o *ownership) uncertain(spans map[models.Partition]span) bool {
	for p, s := range spans {
		if s.from < o.partitions[p].uncertain {
			return true
		}
	}
	return false
}

// untouched tells that no key has a ledger row of another epoch that reaches into what is still to be counted, nor one of this
// epoch that a predecessor left: every partition was never counted before, or its epoch is new and all that anybody may have
// counted before lies behind.
func (o *ownership) untouched() bool {
	for _, p := range o.partitions {
		first := p.tenure.Fresh && store.IsFirstEpoch(p.tenure.Epoch) && p.tenure.Committed == 0
		behind := !p.tenure.Fresh && p.clear > 0 && p.next >= p.clear
		if !first && !behind {
			return false
		}
	}
	return true
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

// places are what may be committed.
func (o *ownership) places() map[models.Partition]place {
	out := make(map[models.Partition]place, len(o.partitions))
	for partition, p := range o.partitions {
		at := place{p.next, mark{tables: o.tables}}
		if p.tail.Offset == p.next {
			at.tail = p.tail.Sum
		}
		out[partition] = at
	}
	return out
}
