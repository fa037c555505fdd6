package rollup

import (
	"context"
	"errors"
	"fmt"
	"math"

	"footfall/consumer/store"
	"footfall/internal/retry"
)

// recover gets ready for the next attempt. After a write of unknown outcome, or where another owner went further, the only truth is
// the ledger: forget what is remembered, take new epochs, put what was under way in doubt, let it land or be dropped, and read the
// ledger again. After a lost connection without such a write nothing is under way, and each new epoch is a row more for every key: it is enough
// to read again what is remembered, in case the store was restarted and lost it. Any other failure has changed nothing and is just tried again.
func (o *ownership) recover(ctx context.Context, c *chunk, cause error, attempt int) error {
	if err := retry.Sleep(ctx, retry.Backoff(attempt)); err != nil {
		return err
	}
	inDoubt := errors.Is(cause, store.ErrUnknownOutcome)
	if !inDoubt && !errors.Is(cause, errSuperseded) {
		if errors.Is(cause, store.ErrDisconnected) {
			o.visitors.drop()
			o.ledger.forget()
		}
		return nil
	}
	if o.lostGroup() {
		return fmt.Errorf("the partitions are no longer ours: %w", cause)
	}
	o.visitors.drop()
	if err := o.renew(ctx, cause); err != nil {
		return err
	}
	if o.lostGroup() { // meanwhile, and we have taken them from somebody, who will find that out
		return fmt.Errorf("the partitions are no longer ours: %w", cause)
	}
	for p, own := range o.partitions { // parts of the chunk may be counted, under an epoch that is no longer ours
		own.uncountedFrom = max(own.uncountedFrom, c.spans[p].To)
		if errors.Is(cause, errSuperseded) {
			own.uncountedFrom = math.MaxInt64 // how far the other one went is not known
		}
	}
	if !inDoubt {
		return nil
	}
	for p, s := range c.spans {
		own := o.partitions[p]
		own.uncertain = max(own.uncertain, s.To)
	}
	o.awaitLanding() // also if somebody left the partitions clean meanwhile: these writes are our own
	return o.doubts.Note(ctx, c.spans, store.DoubtOutcome)
}

// renew takes new epochs. Where nobody else was in between, only keys whose writes are in doubt need new rows under them.
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
