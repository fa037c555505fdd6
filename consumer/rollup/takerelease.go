package rollup

import (
	"context"
	"errors"
	"math"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/repair"
	"footfall/models"
)

// take takes every partition, and drops what may have changed while others owned them: positions, and rows of visitors. It retries until the store answers or ctx ends.
func (o *ownership) take(ctx context.Context) error {
	o.ledger.drop()
	o.visitors.DropRows()
	return o.takeAll(ctx)
}

func (o *ownership) takeAll(ctx context.Context) error {
	failed := o.each(func(partition models.Partition, p *owned) error { return o.takeOne(ctx, partition, p) })
	for _, err := range failed {
		return err // ctx has ended: one is enough
	}
	for _, p := range o.partitions {
		if !p.tenure.Fresh {
			o.awaitLanding()
			break
		}
	}
	return nil
}

func (o *ownership) takeOne(ctx context.Context, partition models.Partition, p *owned) error {
	t, err := eventlog.TakePartition(ctx, o.store, partition, o.owner, o.log)
	if err != nil {
		return err
	}
	again := p.tenure.Epoch > 0
	if p.follows = t.Before == p.tenure.Epoch && !t.Fresh; again && !p.follows {
		p.uncountedFrom = math.MaxInt64 // another consumer owned it meanwhile
	}
	p.tenure = t
	p.noted.Store(t.Committed)
	o.metrics.Took(t, again && p.follows)
	return nil
}

// awaitLanding puts off reading the ledger until writes under way have landed or been dropped.
func (o *ownership) awaitLanding() {
	if wait := o.store.WriteTimeout(); wait > 0 {
		o.landedBy = time.Now().Add(wait + repair.SettleMargin)
	}
}

// release tells the store that every write is acknowledged. A successor then goes on under the same epoch, without waiting. If
// another consumer has taken a partition already, both may have counted its last spans: release puts them in doubt.
func (o *ownership) release(ctx context.Context) error {
	var another error // log than the one that was counted
	for _, err := range o.each(func(p models.Partition, own *owned) error { return o.keepTail(ctx, p, own) }) {
		another = err
	}
	lost := o.each(func(partition models.Partition, p *owned) error {
		ok, err := o.store.Release(ctx, p.tenure, p.reached())
		if err == nil && !ok {
			err = eventlog.ErrTaken
		}
		if err != nil {
			o.log.Warn("partition was not released; its next owner takes a new epoch", "topic", partition.Topic,
				"partition", partition.Number, "epoch", p.tenure.Epoch, "error", err)
		}
		return err
	})
	return errors.Join(another, o.doubts.DoubtOnExit(ctx, o.unconfirmed(lost)))
}
