package rollup

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"footfall/consumer/eventlog"
	"footfall/consumer/repair"
)

// rebalanceTimeout is how long the group waits for members to rejoin. It waits less for a member that drains: kafka-go sends no
// heartbeats between generations, so the group expels that member after the session timeout.
const rebalanceTimeout = 30 * time.Second

// drainTimeout bounds a member's last flush. A member that takes longer than the session timeout is expelled and becomes a
// zombie.
func drainTimeout(session time.Duration) time.Duration { return session * 3 / 4 }

// generation counts the events of the partitions that the group assigned to this member, until the group rebalances or ctx ends.
func (c *Consumer) generation(ctx, genCtx context.Context, gen *kafka.Generation, src eventlog.Sources) error {
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(genCtx, cancel)()
	// The last flush may go on for a while after stop: aborting it would leave a doubt to the successor.
	work, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	defer context.AfterFunc(stop, func() { time.AfterFunc(drainTimeout(c.Config.Kafka.SessionTimeout), giveUp) })()

	c.metrics.generations.Inc()
	defer c.metrics.lost()

	heirs := eventlog.NewHeirs(c.Log, c.hasher, src)
	o, fetchers, err := c.begin(stop, gen, heirs)
	if err != nil {
		if stop.Err() != nil {
			return nil
		}
		return err
	}
	c.member.Store(true)
	defer c.member.Store(false)
	if len(fetchers) == 0 {
		<-stop.Done() // more members than partitions: wait for the next generation
		return nil
	}
	items := make(chan eventlog.Item, 1024)
	group, fetching := errgroup.WithContext(stop)
	for _, f := range fetchers {
		group.Go(func() error { return f.Run(fetching, items) })
	}
	for _, s := range heirs.Successions() {
		group.Go(func() error {
			s.Await(fetching)
			return nil
		})
	}
	group.Go(func() error { return o.watchEnds(fetching) })
	group.Go(func() error {
		o.watchLag(fetching)
		return nil
	})
	group.Go(func() error {
		repair.NewChecker(c.Log, src, c.hasher, c.metrics.repair).WatchDoubts(fetching, o.sorted())
		return nil
	})
	l := limits{c.Config.Chunk.MaxEvents, c.Config.Chunk.MaxBytes, c.Config.Chunk.MaxAge}
	err = o.count(fetching, work, items, l, c.Committer(gen))
	cancel()
	if fetchErr := group.Wait(); err == nil {
		err = fetchErr
	}
	return err
}
