package rollup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"footfall/consumer/eventlog"
)

// count is the data path. It writes one chunk after the other and commits their offsets. While it writes a chunk, prepare collects the
// next one, decides its visitors and sums it. When stop ends, count finishes the chunk under way, or leaves a large one; work bounds that. Then the
// partitions can be released.
func (o *ownership) count(stop, work context.Context, items <-chan eventlog.Item, l limits, commit eventlog.Commit) error {
	stop, cancel := context.WithCancel(stop)
	a := newAhead()
	var preparing sync.WaitGroup
	preparing.Go(func() { o.prepare(stop, work, items, l, a) })
	defer func() {
		cancel()
		preparing.Wait()
		if o.visitors.Wait() != nil {
			o.forget() // as in prepare
		}
	}()
	for ch := range a.next() {
		if err := o.countChunk(work, ch, commit); errors.Is(err, errLeft) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// countChunk flushes and commits one chunk. After an error nothing more may be counted under this ownership: another consumer
// may have the partitions and may have counted the chunk, too. So the chunk is put in doubt, even if the store shows no other
// owner. The successor doubts these offsets as well, but if this process was paused, it may have settled that long ago. Nothing is in doubt after
// errLeft, unless the partitions cannot be released.
func (o *ownership) countChunk(ctx context.Context, ch *chunk, commit eventlog.Commit) error {
	begun := time.Now()
	if err := o.flush(ctx, ch); err != nil {
		if errors.Is(err, errLeft) || eventlog.IsRefusal(err) { // a refusal: this is not the log that was counted, and its offsets mean nothing
			return err
		}
		return errors.Join(fmt.Errorf("flushing: %w", err), o.doubts.DoubtOnExit(ctx, ch.spans))
	}
	now := time.Now()
	for p, last := range ch.last {
		own := o.partitions[p]
		own.waiting.Counted(ch.spans[p].To, last.At, last.written.Newest())
		o.metrics.Counted(p.Topic, &last.written, now)
		tail := last.tail
		own.tail.Store(&tail)
		if !last.At.IsZero() {
			own.countedTime.Store(last.At.UnixMilli())
		}
	}
	err := commit(ctx, o.places())
	if err == nil {
		err = o.progress(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("committing offsets: %w", err), o.doubts.DoubtOnExit(ctx, ch.spans))
	}
	o.committedAny = true
	o.metrics.Holds("positions", perPosition*o.ledger.cache.Len())
	o.pace.Counted(ch.events.Len(), time.Since(begun))
	return nil
}
