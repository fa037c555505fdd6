package rollup

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/eventlog"
	"footfall/consumer/repair"
	"footfall/consumer/rollup/pace"
	"footfall/consumer/store"
	"footfall/internal/retry"
	"footfall/models"
)

// begin takes the partitions that the group assigned to this member, and finds the offset to go on at in each. The order matters: how far a
// partition is counted is known only once it is taken, and a predecessor's unfinished chunk must be in doubt before we commit an offset.
func (c *Consumer) begin(ctx context.Context, gen *kafka.Generation, heirs eventlog.Heirs) (*ownership, []*eventlog.Fetcher, error) {
	o := c.newOwnership(ctx, heirs.Sources.Counts)
	partitions := c.share(assigned(gen, heirs.Sources))
	if len(partitions) == 0 {
		return o, nil, nil
	}
	offsets, err := c.GroupOffsets(ctx, gen.GroupID, partitions)
	if err != nil {
		return nil, nil, err
	}
	owners, err := c.Store.Owners(ctx)
	for attempt := 1; err != nil; attempt++ { // a member that gave up would make the whole group rebalance
		c.Logger.Warn("reading the partitions' owners failed; trying again", "attempt", attempt, "error", err)
		if stopped := retry.Sleep(ctx, retry.Backoff(attempt)); stopped != nil {
			return nil, nil, stopped
		}
		owners, err = c.Store.Owners(ctx)
	}
	behind, err := c.FollowTables(ctx, owners, offsets, c.Committer(gen))
	if err != nil {
		return nil, nil, err
	}
	for p, at := range offsets {
		_, restored := behind[p]
		o.partitions[p] = &owned{next: at.Offset, committed: at.Offset, said: at.Mark, restored: restored}
	}
	if err := o.take(ctx); err != nil {
		return nil, nil, err
	}
	if err := o.agree(ctx, c.patience); err != nil {
		return nil, nil, err
	}
	c.patience = math.MaxInt64 // from now on newcomers give up, not we
	if err := c.retirements.Read(ctx); err != nil {
		return nil, nil, err
	}
	bounds, err := o.bounds(ctx, partitions)
	if err != nil {
		return nil, nil, err
	}
	fetchers, err := c.startAll(ctx, o, bounds, heirs)
	if err != nil {
		return nil, nil, errors.Join(err, o.giveBack(ctx))
	}
	if err := o.doubtPredecessors(ctx); err != nil {
		return nil, nil, err
	}
	if err := o.progress(ctx); err != nil { // a partition may be counted to its seal already: no chunk would note that
		return nil, nil, err
	}
	claimed, err := o.claim(ctx, c.Committer(gen))
	if err == nil && claimed > 0 {
		err = c.CheckUnshared(ctx, 0)
	}
	return o, fetchers, err
}

// newOwnership makes an ownership without partitions, for a generation of the group that ends with ctx.
func (c *Consumer) newOwnership(ctx context.Context, counts func(models.Partition) bool) *ownership {
	return &ownership{
		store: c.Store, tables: c.Tables, owner: c.owner, counts: counts, hasher: c.hasher, partitions: map[models.Partition]*owned{},
		visitors: c.visitors, latest: c.latest, ledger: c.ledger, names: c.names, retirements: c.retirements, deadLetters: c.deadLetters, metrics: c.metrics, log: c.Logger,
		pace: pace.Pace{Within: chunkTime, Least: leastChunk}, costAtOnce: costAtOnce, keysAtOnce: c.keysAtOnce,
		maxSpan: repair.MaxChunkSpan, splitAbove: splitAbove, progressAt: time.Now(),
		doubts:    repair.NewDoubter(c.Store, c.metrics.Repair, c.Logger),
		lostGroup: func() bool { return ctx.Err() != nil },
		bounds: func(ctx context.Context, ps []models.Partition) (map[models.Partition]eventlog.Span, error) {
			return eventlog.Bounds(ctx, c.Kafka, ps)
		},
		sumAt: func(ctx context.Context, p models.Partition, offset int64) (string, error) {
			return eventlog.SumAt(ctx, c.Kafka, p, offset)
		},
		timeFrom: func(ctx context.Context, p models.Partition, offset int64) (int64, time.Time, error) {
			return eventlog.TimeFrom(ctx, c.Kafka, p, offset)
		},
	}
}

// assigned lists the counted partitions that the group assigned to this member.
func assigned(gen *kafka.Generation, src eventlog.Sources) (partitions []models.Partition) {
	for topic, list := range gen.Assignments {
		for _, a := range list {
			if p := (models.Partition{Topic: topic, Number: a.ID}); src.Counts(p) {
				partitions = append(partitions, p)
			}
		}
	}
	// By number, so that some of every topic fit into a small memory; of one number the older generation of a topic first.
	slices.SortFunc(partitions, func(a, b models.Partition) int { return cmp.Or(cmp.Compare(a.Number, b.Number), a.Compare(b)) })
	return partitions
}

// startAll finds the offset to go on at in each partition, and makes its fetcher. It refuses a log that is not the one that was counted.
func (c *Consumer) startAll(ctx context.Context, o *ownership, bounds map[models.Partition]eventlog.Span, heirs eventlog.Heirs) ([]*eventlog.Fetcher, error) {
	windows := map[models.Partition]*eventlog.Window{}
	var fetchers []*eventlog.Fetcher
	for _, p := range o.sorted() {
		own := o.partitions[p]
		own.end, own.sealed = heirs.Sources[p.Topic].End(p.Number)
		if err := own.startFrom(bounds[p], o.tables, c.forgiving); err != nil {
			return nil, err
		}
		f := c.newFetcher(p, own, heirs.Sources[p.Topic], bounds[p])
		heirs.Add(f, own.window)
		windows[p] = own.window
		fetchers = append(fetchers, f)
	}
	c.windows = windows
	return fetchers, o.checkLogIdentity(ctx, bounds)
}

// newFetcher makes the fetcher of a partition where counting goes on at own.next. The fetcher reads the duplicate window first, unless
// this process still has the window from the last generation of the group.
func (c *Consumer) newFetcher(p models.Partition, own *owned, src *eventlog.Source, log eventlog.Span) *eventlog.Fetcher {
	f := &eventlog.Fetcher{
		Kafka: c.Kafka, Partition: p, Inspect: src.Inspect, Gates: []eventlog.Gate{c.retirements.Gate}, Logger: c.Logger,
		Start: own.next, From: own.next, End: own.end, Sealed: own.sealed,
	}
	own.window = c.windows[p]
	if own.window == nil || own.window.Next != own.next {
		f.From = max(log.From, own.next-int64(c.Config.Duplicates.Window))
		own.window = eventlog.NewWindow(c.Reach(), f.From)
		f.Reach = c.Reach()
	}
	return f
}

// doubtPredecessors puts in doubt what an owner that did not leave clean may have been writing: at most one chunk, since a
// chunk is written only when the last one is committed. Twice the bound leaves room for offsets that hold no event, such as
// transaction markers.
func (o *ownership) doubtPredecessors(ctx context.Context) error {
	spans := map[models.Partition]eventlog.Span{}
	for p, own := range o.partitions {
		if !own.tenure.Fresh && o.store.WriteTimeout() > 0 {
			own.uncertain = max(own.next+2*o.maxSpan, own.unknown)
			spans[p] = eventlog.Span{From: own.next, To: own.uncertain}
		}
	}
	return o.doubts.Note(ctx, spans, store.DoubtPredecessor)
}
