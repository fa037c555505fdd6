package rollup

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

// flush counts a chunk: who is new, what is it worth, what does each key hold already, write. It goes on trying until it
// has succeeded or ctx ends; nothing is given up, since what is not counted must not be committed.
func (o *ownership) flush(ctx context.Context, c *chunk) error {
	started := time.Now()
	for attempt := 0; ; attempt++ {
		err := o.tryFlush(ctx, c)
		if err == nil {
			break
		}
		if errors.Is(err, errTooLarge) {
			return o.flushHalves(ctx, c)
		}
		var refused *refusal
		if ctx.Err() != nil || errors.As(err, &refused) {
			return err
		}
		o.metrics.flushRetries.Inc()
		o.log.Warn("flush failed; trying again", "attempt", attempt+1, "error", err)
		if err := o.recover(ctx, c, err, attempt); err != nil {
			return err
		}
		if attempt >= splitAfter && errors.Is(err, errNotApplied) && len(c.events) > o.splitAbove {
			return o.flushHalves(ctx, c)
		}
	}
	for partition, s := range c.spans {
		own := o.partitions[partition]
		own.next = s.to
		own.counted.Store(s.to)
	}
	o.metrics.flushed(c, time.Since(started))
	return nil
}

// splitAfter is how often a chunk is tried as a whole: one that the store answers but does not take may be too large for it.
const splitAfter = 2

func (o *ownership) flushHalves(ctx context.Context, c *chunk) error {
	for _, half := range c.halves() {
		if err := o.flush(ctx, half); err != nil {
			return err
		}
	}
	return nil
}

func (o *ownership) tryFlush(ctx context.Context, c *chunk) error {
	if !c.buried {
		if err := o.dead.send(ctx, c.dead); err != nil {
			return err
		}
		c.buried = true
	}
	if err := c.trouble; err != nil {
		c.trouble = nil
		return err
	}
	if o.board.news() {
		o.visitors.drop()
	}
	if err := o.visitors.decide(ctx, c); err != nil {
		return err
	}
	if err := o.skipPast(ctx, c); err != nil {
		return err
	}
	if err := o.latest.keep(ctx, c.events); err != nil {
		return err
	}
	work := c.takeDeltas()
	if err := sleep(ctx, time.Until(o.settled)); err != nil { // a predecessor's writes may still land
		return err
	}
	epochs := o.epochs()
	known, err := o.ledger.load(ctx, work, epochs, o.uncertain(c.spans), o.untouched())
	if err != nil {
		return err
	}
	o.metrics.ledgerReads.Add(float64(known.reads))
	if !known.complete {
		if err := o.doubt(ctx, c.spans, store.DoubtReplicas); err != nil {
			return err
		}
	}
	if err := o.checkAhead(ctx, c, known.at); err != nil {
		return err
	}
	leaveOut(work, c.events, c.spans, known.at)
	writes := plan(work, c.spans, known.at, epochs)
	if len(c.events) > o.splitAbove && slices.ContainsFunc(writes, tooLarge) {
		return errTooLarge
	}
	return o.apply(ctx, writes, c)
}

// errTooLarge: what a chunk adds to one key does not fit a request. Nothing was written.
var errTooLarge = errors.New("too much for one key")

// tooLarge tells whether a write must be split: a batch takes 65,535 statements, a request 16 MiB, and each statement repeats
// the key.
func tooLarge(w store.KeyWrite) bool {
	const statements, bytes, overhead = 60_000, 12 << 20, 64
	n := len(w.Cells) + len(w.Ledger)
	size := n * (len(w.Key.Name) + len(w.Key.Features) + overhead)
	for cell := range w.Cells {
		size += len(cell.Label)
	}
	return n > statements || size > bytes
}

// checkAhead refuses to go on if a key's ledger is ahead of the log: the topic was created anew, and its offsets do not
// mean what the ledger says.
func (o *ownership) checkAhead(ctx context.Context, c *chunk, at map[models.Key]positions) error {
	for p, last := range c.last {
		own := o.partitions[p]
		own.highWater = max(own.highWater, last.highWater)
	}
	for _, known := range at {
		for p, pos := range known {
			own := o.partitions[p]
			if own == nil || pos.to <= own.highWater {
				continue
			}
			bounds, err := o.bounds(ctx, []models.Partition{p}) // the log may have grown since
			if err != nil {
				return err
			}
			if own.highWater = bounds[p].to; pos.to > own.highWater {
				return recreated(p, pos.to)
			}
		}
	}
	return nil
}

// errNotApplied wraps failures of counter writes.
var errNotApplied = errors.New("writing counters")

func (o *ownership) apply(ctx context.Context, writes []store.KeyWrite, c *chunk) error {
	var failed error
	failures := 0
	o.doubted = o.doubted[:0]
	for i, err := range o.store.Apply(ctx, writes) {
		o.metrics.batch(err)
		if err == nil {
			o.ledger.acknowledge(writes[i], c.spans)
			continue
		}
		failures++
		if errors.Is(err, store.ErrUnknownOutcome) {
			o.doubted = append(o.doubted, writes[i].Key)
		}
		if failed == nil || errors.Is(err, store.ErrUnknownOutcome) {
			failed = err // the worst one is told
		}
	}
	if failed == nil {
		return nil
	}
	return fmt.Errorf("%w: %d of %d keys failed, such as: %w", errNotApplied, failures, len(writes), failed)
}

// recover gets ready for the next attempt. After a write of unknown outcome, or where another owner went further, the only truth is
// the ledger: forget what is remembered, take new epochs, put what was under way in doubt, let it land or be dropped, and read the
// ledger again. After a lost connection without such a write nothing is under way, and each new epoch is a row more for every key: it is enough
// to read again what is remembered, in case the store was restarted and lost it. Any other failure has changed nothing and is just tried again.
func (o *ownership) recover(ctx context.Context, c *chunk, cause error, attempt int) error {
	if err := sleep(ctx, backoff(attempt)); err != nil {
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
	if o.ended() {
		return fmt.Errorf("the partitions are no longer ours: %w", cause)
	}
	o.visitors.drop()
	if err := o.renew(ctx, cause); err != nil {
		return err
	}
	if o.ended() { // meanwhile, and we have taken them from somebody, who will find that out
		return fmt.Errorf("the partitions are no longer ours: %w", cause)
	}
	for p, own := range o.partitions { // parts of the chunk may be counted, under an epoch that is no longer ours
		own.clear = max(own.clear, c.spans[p].to)
		if errors.Is(cause, errSuperseded) {
			own.clear = math.MaxInt64 // how far the other one went is not known
		}
	}
	if !inDoubt {
		return nil
	}
	for p, s := range c.spans {
		own := o.partitions[p]
		own.uncertain = max(own.uncertain, s.to)
	}
	o.settle() // also if somebody left the partitions clean meanwhile: these writes are our own
	return o.doubt(ctx, c.spans, store.DoubtOutcome)
}

// renew takes new epochs. Where nobody else was in between, only keys whose writes are in doubt need new rows under them.
func (o *ownership) renew(ctx context.Context, cause error) error {
	if err := o.takeAll(ctx); err != nil {
		o.ledger.drop()
		return err
	}
	ours := errors.Is(cause, errNotApplied) && len(o.doubted) > 0
	for _, p := range o.partitions {
		ours = ours && p.follows
	}
	if ours {
		o.ledger.renew(o.doubted)
	} else {
		o.ledger.drop()
	}
	return nil
}

// backoff grows from 100 ms to 5 s.
func backoff(attempt int) time.Duration {
	return min(100*time.Millisecond<<min(attempt, 10), 5*time.Second)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
