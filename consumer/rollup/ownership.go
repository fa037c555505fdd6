package rollup

import (
	"context"
	"log/slog"
	"time"

	"footfall/models"
)

// ownership is this process's hold on the partitions of one group generation: what it takes to count their events. Not
// safe for concurrent use.
type ownership struct {
	store      Store
	owner      string
	hasher     hasher
	partitions map[models.Partition]*owned
	visitors   *visitors
	ledger     *ledger
	dead       deadLetters
	metrics    *metrics
	log        *slog.Logger

	// settled is when writes of a predecessor, or our own of unknown outcome, have landed or been dropped. The ledger is
	// not read before.
	settled time.Time
}

// owned is one partition.
type owned struct {
	tenure    Tenure
	next      int64 // every event below is counted
	highWater int64
	window    *window
}

// settleMargin is added to the store's write timeout, which runs by another clock and from another moment.
const settleMargin = time.Second

// take takes every partition, anew if need be, and forgets the positions read under former epochs. It goes on trying until
// the store answers or ctx ends.
func (o *ownership) take(ctx context.Context) error {
	o.ledger.drop()
	for partition, p := range o.partitions {
		for attempt := 0; ; attempt++ {
			t, err := o.store.Take(ctx, partition, o.owner)
			if err == nil {
				p.tenure = t
				break
			}
			if ctx.Err() != nil {
				return err
			}
			o.log.Warn("taking partition failed; trying again", "attempt", attempt+1, "error", err)
			if err := sleep(ctx, backoff(attempt)); err != nil {
				return err
			}
		}
		o.metrics.took(p.tenure)
		if wait := o.store.WriteTimeout(); !p.tenure.Fresh && wait > 0 {
			o.settled = time.Now().Add(wait + settleMargin)
		}
	}
	return nil
}

// release says for every partition that all is written. A successor then goes on under the same epoch, without waiting.
func (o *ownership) release(ctx context.Context) {
	for partition, p := range o.partitions {
		ok, err := o.store.Release(ctx, p.tenure, p.next)
		if err != nil {
			o.log.Warn("releasing partition failed; its next owner takes a new epoch", "topic", partition.Topic,
				"partition", partition.Number, "error", err)
		} else if !ok {
			o.log.Warn("partition was taken by another owner before it was released", "topic", partition.Topic,
				"partition", partition.Number, "epoch", p.tenure.Epoch)
		}
	}
}

func (o *ownership) epochs() map[models.Partition]int64 {
	out := make(map[models.Partition]int64, len(o.partitions))
	for partition, p := range o.partitions {
		out[partition] = p.tenure.Epoch
	}
	return out
}

// offsets are what may be committed.
func (o *ownership) offsets() map[string]map[int]int64 {
	out := map[string]map[int]int64{}
	for partition, p := range o.partitions {
		if out[partition.Topic] == nil {
			out[partition.Topic] = map[int]int64{}
		}
		out[partition.Topic][partition.Number] = p.next
	}
	return out
}
