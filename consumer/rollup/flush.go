package rollup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/eventlog/sums"
	"footfall/consumer/rollup/positioncache"
	"footfall/consumer/store"
	"footfall/internal/retry"
	"footfall/models"
)

// flush counts a chunk: it decides first sights, sums what the events add, reads what each key holds already, and writes. It retries
// until it has succeeded, ctx ends, or the chunk is left (errLeft). It skips nothing, since what is not counted must not be committed.
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
		if ctx.Err() != nil || eventlog.IsRefusal(err) || errors.Is(err, errLeft) {
			return err
		}
		o.metrics.FlushRetries.Inc()
		o.log.Warn("flush failed; trying again", "attempt", attempt+1, "error", err)
		if err := o.recover(ctx, c, err, attempt); err != nil {
			return err
		}
		if attempt >= splitAfter && errors.Is(err, errApplyFailed) && c.events.Len() > o.splitAbove {
			return o.flushHalves(ctx, c)
		}
	}
	for partition, s := range c.spans {
		own := o.partitions[partition]
		own.next = s.To
		own.counted.Store(s.To)
	}
	o.metrics.Flushed(c.outcomes(), time.Since(started))
	return nil
}

// splitAfter is how often a whole chunk is retried: one that the store keeps refusing may be too large for it.
const splitAfter = 2

func (o *ownership) flushHalves(ctx context.Context, c *chunk) error {
	for _, half := range c.halves() {
		if err := o.flush(ctx, half); err != nil {
			return err
		}
	}
	return nil
}

// tryFlush tries once to count a chunk: decide, plan, apply. After an error it may be called again.
func (o *ownership) tryFlush(ctx context.Context, c *chunk) error {
	if err := o.decide(ctx, c); err != nil {
		return err
	}
	for {
		p, err := o.planChunk(ctx, c)
		if err != nil {
			return err
		}
		planned := c.events.Len()
		if err := o.skipPast(ctx, c); err != nil { // again: planning may have taken long, or the process was paused
			return err
		}
		if c.events.Len() == planned {
			return o.apply(ctx, p, c)
		}
	}
}

// decide finds out which events of the chunk count, and which are a visitor's first. It writes what must be stored before they are
// counted: dead letters, visitors' rows and latest clicks.
func (o *ownership) decide(ctx context.Context, c *chunk) error {
	if !c.deadWritten {
		if err := o.deadLetters.Write(ctx, c.dead); err != nil {
			return err
		}
		c.deadWritten = true
	}
	if err := c.trouble; err != nil { // deciding it ahead failed: report that once, then retry
		c.trouble = nil
		return err
	}
	if o.retirements.TakeForgotten() {
		o.visitors.Drop()
	}
	if err := o.decideFirst(ctx, c); err != nil {
		return err
	}
	if err := o.skipPast(ctx, c); err != nil {
		return err
	}
	return o.latest.Keep(ctx, c.events.All())
}

// skipPast removes retired events from a chunk whose visitors have been looked up. Visitors' rows are removed only some time
// after a retirement is done. So notices that are fresh now tell whether the rows were still there at the lookup.
func (o *ownership) skipPast(ctx context.Context, c *chunk) error {
	if o.retirements == nil {
		return nil // a file is counted: nothing of it is retired
	}
	if err := o.retirements.Fresh(ctx); err != nil {
		return err
	}
	list := o.retirements.List()
	if len(list) == 0 {
		return nil // the usual case, and skipPast runs twice for each chunk
	}
	past := func(e *eventlog.Counted) bool { return list.Past(e.Partition, e.Offset, e.Event) }
	found := 0
	for _, e := range c.events.All() {
		if past(e) {
			c.retired[e.Partition.Topic]++
			found++
		}
	}
	if found > 0 {
		c.events = c.events.Select(func(_ int, e *eventlog.Counted) bool { return !past(e) })
		c.added = nil
	}
	return nil
}

// planChunk sums what the chunk adds, leaves out what keys hold already by their ledgers, and returns what there is to write. It lists the keys' names,
// but writes no counter.
func (o *ownership) planChunk(ctx context.Context, c *chunk) (*plan, error) {
	if err := retry.Sleep(ctx, time.Until(o.landedBy)); err != nil { // a predecessor's writes may still land
		return nil, err
	}
	work, epochs := c.takeDeltas(), o.epochs()
	if err := o.list(ctx, &work); err != nil {
		return nil, err
	}
	known, err := o.ledger.load(ctx, work, epochs, o.uncertain(c.spans), o.untouched())
	if err != nil {
		return nil, err
	}
	o.metrics.LedgerReads.Add(float64(known.reads))
	if !known.complete {
		if err := o.doubts.Note(ctx, c.spans, store.DoubtReplicas); err != nil {
			return nil, err
		}
	}
	if err := o.checkAhead(ctx, c, known.at); err != nil {
		return nil, err
	}
	o.moved()
	leaveOut(work, c.events.All(), c.spans, known.at)
	if c.events.Len() > o.splitAbove {
		for key, one := range work.All() {
			if store.TooLarge(key, one.Cells(), ledgerRows(one)) {
				return nil, errTooLarge
			}
		}
	}
	return &plan{work, known.at, epochs}, nil
}

// plan is what a chunk adds, and from where on.
type plan struct {
	work   deltas
	at     *positioncache.ByNumber // by the number of the key
	epochs map[models.Partition]int64
}

// errTooLarge: what a chunk adds to one key does not fit a request. Nothing was written.
var errTooLarge = errors.New("too much for one key")

// ledgerRows is how many a key's write has: one for each partition.
func ledgerRows(one sums.One) (n int) {
	for range one.Partitions() {
		n++
	}
	return n
}

// weight is how many usual keys take as much memory as this one while it is written, in the request and before.
func weight(key models.Key, one sums.One) int {
	const usual, perStatement = 4 << 10, 300
	return 1 + (one.Len()+ledgerRows(one))*(len(key.Name)+len(key.Features)+perStatement)/usual
}

// checkAhead refuses to go on if a key's ledger is ahead of the log: the topic was recreated, and its offsets are not those of
// the ledger.
func (o *ownership) checkAhead(ctx context.Context, c *chunk, at *positioncache.ByNumber) error {
	for p, last := range c.last {
		own := o.partitions[p]
		own.highWater = max(own.highWater, last.HighWater)
	}
	for pos := range at.All() {
		p := pos.Partition
		own := o.partitions[p]
		if own == nil || pos.To <= own.highWater {
			continue
		}
		bounds, err := o.bounds(ctx, []models.Partition{p}) // the log may have grown since
		if err != nil {
			return err
		}
		if own.highWater = bounds[p].To; pos.To > own.highWater {
			return eventlog.RecreatedTopic(p, pos.To)
		}
	}
	return nil
}

// errApplyFailed wraps failures of counter writes.
var errApplyFailed = errors.New("writing counters")

// apply writes a chunk in portions, since the statements of all would take much memory. After a write of unknown outcome it begins
// no more. Nor does it when the group waits for this member: then it returns errLeft, if it may.
func (o *ownership) apply(ctx context.Context, p *plan, c *chunk) error {
	var failed error
	failures, begun := 0, false
	o.inDoubt = o.inDoubt[:0]
	for portion := range p.work.Portions(o.keysAtOnce, weight) {
		if begun && failed == nil && o.mayLeave(c) {
			return o.leave(c)
		}
		begun = true
		written := false
		writes := planWrites(portion, c.spans, p.at, p.epochs)
		for i, err := range o.store.Apply(ctx, writes) {
			o.metrics.Wrote(err)
			if err == nil {
				o.ledger.acknowledge(writes[i], c.spans)
				written = true
				continue
			}
			failures++
			if errors.Is(err, store.ErrUnknownOutcome) {
				o.inDoubt = append(o.inDoubt, writes[i].Key)
			}
			if failed == nil || errors.Is(err, store.ErrUnknownOutcome) {
				failed = err // an unknown outcome is reported rather than a refusal
			}
		}
		if written {
			o.moved()
		}
		if len(o.inDoubt) > 0 {
			break
		}
	}
	if failed == nil {
		return nil
	}
	return fmt.Errorf("%w: %d of %d keys failed, such as: %w", errApplyFailed, failures, p.work.Keys(), failed)
}

// moved notes that the flush makes progress.
func (o *ownership) moved() { o.movedAt.Store(time.Now().UnixMilli()) }

// keysAtOnce is how many usual keys are written at once: enough to keep the store busy.
const keysAtOnce = 10_000
