package rollup

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"footfall/consumer/store"
	"footfall/internal/kafka/topics"
	"footfall/models"
)

// rebalanceTimeout is how long the group waits for members to join again. It does not wait that long for one that drains:
// kafka-go sends no heartbeats between generations, so that one is expelled after the session timeout.
const rebalanceTimeout = 30 * time.Second

// drainTimeout is how long a member takes for its last flush at the most. One that takes longer than the session timeout
// is expelled and becomes a zombie.
func drainTimeout(session time.Duration) time.Duration { return session * 3 / 4 }

// generation counts the events of the partitions that this member was given, until the group rebalances or ctx ends.
func (c *Consumer) generation(ctx, genCtx context.Context, gen *kafka.Generation, src sources) error {
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(genCtx, cancel)()
	// The last flush may go on for a while after stop: giving it up at once would only leave doubt to the successor.
	work, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	defer context.AfterFunc(stop, func() { time.AfterFunc(drainTimeout(c.cfg.Kafka.SessionTimeout), giveUp) })()

	c.metrics.generations.Inc()
	defer c.metrics.lost()

	heirs := c.newHeirs(src)
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
	items := make(chan item, 1024)
	group, fetching := errgroup.WithContext(stop)
	for _, f := range fetchers {
		group.Go(func() error { return f.run(fetching, items) })
	}
	for _, s := range heirs.successions() {
		group.Go(func() error {
			s.await(fetching)
			return nil
		})
	}
	group.Go(func() error { return o.watchEnds(fetching) })
	group.Go(func() error {
		o.watchLag(fetching)
		return nil
	})
	group.Go(func() error {
		c.checker(src).watchDoubts(fetching, o.sorted())
		return nil
	})
	l := limits{c.cfg.Chunk.MaxEvents, fewer(c.cfg.Chunk.MaxEvents, c.plan), c.cfg.Chunk.MaxBytes, c.cfg.Chunk.MaxAge}
	err = o.count(fetching, work, items, l, c.committer(gen))
	cancel()
	if fetchErr := group.Wait(); err == nil {
		err = fetchErr
	}
	return err
}

// begin takes the partitions and finds out where to go on in each.
func (c *Consumer) begin(ctx context.Context, gen *kafka.Generation, heirs heirs) (*ownership, []*fetcher, error) {
	o := &ownership{
		store: c.store, tables: c.tables, owner: c.owner, counts: heirs.sources.counts, hasher: c.hasher, partitions: map[models.Partition]*owned{},
		visitors: c.visitors, latest: c.latest, ledger: c.ledger, board: c.board, dead: c.dead, metrics: c.metrics, log: c.log,
		maxSpan: maxChunkSpan, splitAbove: splitAbove, number: freshNumber, noted: time.Now(),
		ended: func() bool { return ctx.Err() != nil },
		bounds: func(ctx context.Context, ps []models.Partition) (map[models.Partition]span, error) {
			return logBounds(ctx, c.kafka, ps)
		},
		sumAt: func(ctx context.Context, p models.Partition, offset int64) (string, error) {
			return sumAt(ctx, c.kafka, p, offset)
		},
	}
	var partitions []models.Partition
	for topic, list := range gen.Assignments {
		for _, a := range list {
			p := models.Partition{Topic: topic, Number: a.ID}
			if !heirs.sources.counts(p) {
				continue
			}
			partitions = append(partitions, p)
		}
	}
	if len(partitions) == 0 {
		return o, nil, nil
	}
	places, err := c.places(ctx, gen.GroupID, partitions)
	if err != nil {
		return nil, nil, err
	}
	for p, at := range places {
		o.partitions[p] = &owned{next: at.offset, committed: at.offset, said: at.mark}
	}
	if err := o.take(ctx); err != nil {
		return nil, nil, err
	}
	if err := o.agree(ctx, c.patience); err != nil {
		return nil, nil, err
	}
	c.patience = math.MaxInt64 // from now on it is newcomers that have to go
	if err := c.board.look(ctx); err != nil {
		return nil, nil, err
	}
	bounds, err := o.bounds(ctx, partitions)
	if err != nil {
		return nil, nil, err
	}
	windows := map[models.Partition]*window{}
	var fetchers []*fetcher
	for _, p := range partitions {
		own, src := o.partitions[p], heirs.sources[p.Topic]
		f := &fetcher{
			kafka: c.kafka, partition: p, inspect: src.inspect, gates: []gate{c.board.gate}, log: c.log,
			count: func(ctx context.Context) (int, error) { return topics.Partitions(ctx, c.kafka, p.Topic) },
		}
		f.end, f.sealed = src.end(p.Number)
		own.end, own.sealed = f.end, f.sealed
		if err := own.goOn(bounds[p], o.tables, c.forgiving); err != nil {
			return nil, nil, errors.Join(err, o.giveBack(ctx))
		}
		f.start, f.from = own.next, own.next
		own.window = c.windows[p]
		if own.window == nil || own.window.next != own.next {
			f.from = max(bounds[p].from, own.next-int64(c.cfg.Duplicates.Window))
			own.window = newWindow(c.reach(), f.from)
			f.reach = c.reach()
		}
		heirs.add(f, own.window)
		windows[p] = own.window
		fetchers = append(fetchers, f)
	}
	c.windows = windows
	if err := o.sameLog(ctx, bounds); err != nil {
		return nil, nil, errors.Join(err, o.giveBack(ctx))
	}
	if err := o.doubtPredecessors(ctx); err != nil {
		return nil, nil, err
	}
	if err := o.progress(ctx); err != nil { // one may be at its end, and nothing left to count
		return nil, nil, err
	}
	claimed, err := o.claim(ctx, c.committer(gen))
	if err == nil && claimed > 0 {
		err = c.unshared(ctx, 0)
	}
	return o, fetchers, err
}

// doubtPredecessors puts in doubt what owners that did not leave clean may have had under way: at most one chunk, since a
// chunk is begun only when the last one is committed. Twice its bound leaves room for offsets that hold no event, such as
// the markers of transactions.
func (o *ownership) doubtPredecessors(ctx context.Context) error {
	spans := map[models.Partition]span{}
	for p, own := range o.partitions {
		if !own.tenure.Fresh && o.store.WriteTimeout() > 0 {
			own.uncertain = max(own.next+2*o.maxSpan, own.unknown)
			spans[p] = span{own.next, own.uncertain}
		}
	}
	return o.doubt(ctx, spans, store.DoubtPredecessor)
}

// count is the data path: a chunk is collected, its visitors are decided and it is added up while the one before it is written; then it
// is written, and its offsets are committed. It ends when stop does, with the chunk under way counted and the partitions
// released; work bounds that.
func (o *ownership) count(stop, work context.Context, items <-chan item, l limits, commit commit) error {
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
func (o *ownership) countChunk(ctx context.Context, ch *chunk, commit commit) error {
	if err := o.flush(ctx, ch); err != nil {
		if unreadable(err) { // the log is not the one that was counted: these offsets mean nothing
			return err
		}
		return errors.Join(fmt.Errorf("flushing: %w", err), o.lastWord(ctx, ch.spans))
	}
	for p, last := range ch.last {
		o.partitions[p].tail = last.tail()
	}
	err := commit(ctx, o.places())
	if err == nil {
		err = o.progress(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("committing offsets: %w", err), o.lastWord(ctx, ch.spans))
	}
	return nil
}

// lagInterval is how often the log is asked how far it is.
const lagInterval = 2 * time.Second

// watchLag keeps the lag of every partition, also and above all while nothing can be counted, until ctx ends.
func (o *ownership) watchLag(ctx context.Context) {
	partitions := o.sorted()
	for {
		if bounds, err := o.bounds(ctx, partitions); err == nil {
			for _, p := range partitions {
				to := bounds[p].to
				if own := o.partitions[p]; own.sealed {
					o.metrics.beyond(p, o.beyondSeal(ctx, p, to))
					to = min(to, own.end)
				}
				o.metrics.lagging(p, to-o.partitions[p].counted.Load())
			}
		}
		if sleep(ctx, lagInterval) != nil {
			return
		}
	}
}
