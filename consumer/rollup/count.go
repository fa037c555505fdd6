package rollup

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"footfall/consumer/eventlog"
)

// count is the data path: a chunk is collected, its visitors are decided and it is added up while the one before it is written; then it
// is written, and its offsets are committed. It ends when stop does, with the chunk under way counted and the partitions
// released; work bounds that.
func (o *ownership) count(stop, work context.Context, items <-chan eventlog.Item, l limits, commit eventlog.Commit) error {
	stop, cancel := context.WithCancel(stop)
	a := newAhead()
	var preparing sync.WaitGroup
	preparing.Go(func() { o.prepare(stop, work, items, l, a) })
	defer preparing.Wait()
	defer cancel()
	for ch := range a.next() {
		if err := o.countChunk(work, ch, commit); err != nil {
			return err
		}
	}
	return o.release(work)
}

// countChunk flushes and commits one chunk. After an error nothing more may be counted under this ownership: perhaps the
// partitions were given to others meanwhile, and the chunk was counted by both. Nobody may take this for a clean end, even
// if no other owner is to be seen in the store. The successor doubts these offsets as well, but it may have settled that
// long ago, if this process was paused.
func (o *ownership) countChunk(ctx context.Context, ch *chunk, commit eventlog.Commit) error {
	if err := o.flush(ctx, ch); err != nil {
		if eventlog.IsRefusal(err) { // the log is not the one that was counted: these offsets mean nothing
			return err
		}
		return errors.Join(fmt.Errorf("flushing: %w", err), o.doubts.DoubtOnExit(ctx, ch.spans))
	}
	for p, last := range ch.last {
		o.partitions[p].tail = last.Tail()
	}
	err := commit(ctx, o.places())
	if err == nil {
		err = o.progress(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("committing offsets: %w", err), o.doubts.DoubtOnExit(ctx, ch.spans))
	}
	return nil
}
