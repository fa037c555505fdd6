package rollup

import (
	"context"
	"errors"
	"fmt"
	"math"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/internal/retry"
)

// recover prepares the next attempt. After a write of unknown outcome, or if another owner counted further, only the ledger tells what is
// counted: recover empties the visitor cache, takes new epochs (renew), puts the chunk in doubt and lets its writes land or be dropped.
// Then the ledger is read again. After a lost connection without such a write nothing is under way. New epochs would cost every key another
// row, so recover only empties the caches, in case the store was restarted and lost rows. Any other failure has changed nothing and is
// just retried.
func (o *ownership) recover(ctx context.Context, c *chunk, cause error, attempt int) error {
	if err := retry.Sleep(ctx, retry.Backoff(attempt)); err != nil {
		return err
	}
	if err := store.CheckFence(ctx); errors.Is(err, eventlog.ErrTaken) {
		return err
	}
	inDoubt := errors.Is(cause, store.ErrUnknownOutcome)
	if !inDoubt && !errors.Is(cause, errSuperseded) {
		if errors.Is(cause, store.ErrDisconnected) {
			o.forget()
			o.ledger.forget()
		}
		return nil
	}
	if o.lostGroup() {
		return fmt.Errorf("the partitions are no longer ours: %w", cause)
	}
	o.forget()
	if err := o.renew(ctx, cause); err != nil {
		return err
	}
	if o.lostGroup() { // meanwhile: we took them from their new owner, which will find that out
		return fmt.Errorf("the partitions are no longer ours: %w", cause)
	}
	for p, own := range o.partitions { // parts of the chunk may be counted, under an epoch that is no longer ours
		own.uncountedFrom = max(own.uncountedFrom, c.spans[p].To)
		if errors.Is(cause, errSuperseded) {
			own.uncountedFrom = math.MaxInt64 // how far the other owner counted is not known
		}
	}
	if !inDoubt {
		return nil
	}
	for p, s := range c.spans {
		own := o.partitions[p]
		own.uncertain = max(own.uncertain, s.To)
	}
	o.awaitLanding() // also if another owner left the partitions clean meanwhile: these writes are our own
	return o.doubts.Note(ctx, c.spans, store.DoubtOutcome)
}

// forget empties the caches of rows that the store may have lost. Names first: a chunk whose visitors are decided anew lists its names anew,
// too, and must not find them in the cache.
func (o *ownership) forget() {
	o.names.Drop()
	o.visitors.Drop()
}

// renew takes new epochs. If nobody else owned the partitions in between, only keys whose writes are in doubt need new ledger rows.
func (o *ownership) renew(ctx context.Context, cause error) error {
	if err := o.takeAll(ctx); err != nil {
		o.ledger.drop()
		return err
	}
	ours := errors.Is(cause, errApplyFailed) && len(o.inDoubt) > 0
	for _, p := range o.partitions {
		ours = ours && p.follows
	}
	if ours {
		o.ledger.renew(o.inDoubt)
	} else {
		o.ledger.drop()
	}
	return nil
}
