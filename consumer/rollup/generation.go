package rollup

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"footfall/consumer/eventlog"
	"footfall/consumer/repair"
	"footfall/consumer/rollup/fence"
	"footfall/consumer/store"
	"footfall/internal/budget"
	"footfall/internal/retry"
)

const (
	// chunkTime is how long a chunk should take to count. An event waits for the one before its own and for its own, and 99 % should be counted
	// within a minute.
	chunkTime = 30 * time.Second
	// leastChunk is how many events a chunk may have even if it takes longer.
	leastChunk = 16_000
	// drainTimeout bounds a member's last flush: a chunk may take longer than the one before it.
	drainTimeout = 45 * time.Second
	// rebalanceTimeout is how long the group waits for members to rejoin. A member that takes longer is expelled and becomes a zombie.
	rebalanceTimeout = 60 * time.Second
)

// heartbeat is how often a member sends one. By its answer the member hears of a rebalance, so it is not too seldom.
func heartbeat(session time.Duration) time.Duration { return min(session/10, 3*time.Second) }

// stallTimeout bounds the time in which a last flush makes no progress. If the store hangs, others should not wait for this member.
func stallTimeout(session time.Duration) time.Duration { return session * 3 / 4 }

// generation counts the events of the partitions that the group assigned to this member, until the group rebalances or ctx ends. While counting is
// paused it stays in the group, and holds no partition.
func (c *Consumer) generation(ctx, genCtx context.Context, gen *kafka.Generation, src eventlog.Sources) error {
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(genCtx, cancel)()
	defer c.member.Store(false)
	c.metrics.Generations.Inc()
	for c.pauses.AwaitEnd(stop, func() { c.member.Store(true) }) {
		if paused, err := c.untilPause(ctx, genCtx, gen, src); err != nil || !paused {
			return err
		}
	}
	return nil
}

// untilPause is generation, until counting is paused.
func (c *Consumer) untilPause(ctx, genCtx context.Context, gen *kafka.Generation, src eventlog.Sources) (bool, error) {
	session := c.Config.Kafka.SessionTimeout
	guard := &fence.Fence{Store: c.Store, Owner: c.owner, Session: session}
	ctx = store.Fenced(ctx, guard.Check)
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(genCtx, cancel)()
	// The last flush may go on for a while after stop: aborting it would leave a doubt to the successor.
	work, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	go guard.Beat(work, c.Kafka, gen, heartbeat(session))

	defer c.metrics.Lost()

	heirs := eventlog.NewHeirs(c.Log, c.hasher, src)
	o, fetchers, err := c.begin(stop, gen, heirs)
	if err != nil {
		if stop.Err() != nil {
			err = nil
		}
		return false, err
	}
	guard.Partitions = o.sorted()
	c.metrics.Owns(o.waiting())
	o.lostGroup = func() bool { return ctx.Err() != nil || genCtx.Err() != nil } // not when counting is paused
	o.groupWaits = func() bool { return genCtx.Err() != nil && ctx.Err() == nil }
	c.member.Store(true)
	if len(fetchers) == 0 {
		<-stop.Done() // more members than partitions: wait for the next generation
		return false, nil
	}
	var paused atomic.Bool // whether it is a pause that ends stop; read by what runs when stop ends
	items := make(chan eventlog.Item, 1024)
	o.fetched = budget.NewRoom(int64(c.shares.fetched))
	group, fetching := errgroup.WithContext(stop)
	for _, f := range fetchers {
		f.Room = o.fetched
		group.Go(func() error { return f.Run(fetching, items) })
	}
	for _, s := range heirs.Successions() {
		group.Go(func() error {
			s.Await(fetching)
			return nil
		})
	}
	group.Go(func() error { return o.watch(fetching) })
	group.Go(func() error {
		o.watchLag(fetching)
		return nil
	})
	group.Go(func() error {
		checker := repair.NewChecker(c.Log, src, c.hasher, c.metrics.Repair)
		checker.Bytes, checker.Holds = c.shares.repairs, func(bytes int) { c.metrics.Holds("repairs", bytes) }
		checker.WatchDoubts(fetching, o.sorted())
		return nil
	})
	group.Go(func() error {
		if c.pauses.AwaitPause(fetching) {
			paused.Store(true)
			cancel()
		}
		return nil
	})
	l := limits{c.Config.Chunk.MaxEvents, c.shares.of(c.Config.Chunk.MaxBytes), c.Config.Chunk.MaxAge}
	leaving, left := context.WithCancel(ctx)
	defer left()
	defer context.AfterFunc(genCtx, left)()
	defer context.AfterFunc(stop, func() {
		if paused.Load() { // nobody waits for this member: the chunk may take as long as it takes
			<-leaving.Done()
		}
		o.awaitStall(work, stallTimeout(session), drainTimeout)
		giveUp()
	})()
	err = o.count(fetching, work, items, l, c.Committer(gen))
	cancel()
	fetchErr := group.Wait() // before the release: repairs write, too
	if err == nil {
		err = errors.Join(o.release(work), fetchErr)
	}
	return paused.Load(), err
}

// awaitStall returns when ctx ends, when the flush made no progress for a while, or after most.
func (o *ownership) awaitStall(ctx context.Context, while, most time.Duration) {
	begun := time.Now()
	for ctx.Err() == nil {
		since := begun
		if last := time.UnixMilli(o.movedAt.Load()); last.After(since) {
			since = last
		}
		left := min(time.Until(since.Add(while)), time.Until(begun.Add(most)))
		if left <= 0 {
			return
		}
		_ = retry.Sleep(ctx, left)
	}
}
