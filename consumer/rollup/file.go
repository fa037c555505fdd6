package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"footfall/configs"
	"footfall/consumer/eventlog"
	"footfall/consumer/repair"
	"footfall/consumer/store"
	"footfall/models"
)

// VisitsFile is a file of visits that is counted as a partition: a visit's place in it is its offset.
type VisitsFile struct {
	Name  string
	Site  string // of all visits, if --site was given
	Lines int64
	Sum   string // SHA-256 of its bytes
	// Read calls each with the visits in order, until a call returns an error.
	Read func(each func(*models.Visit) error) error
}

// CountFile counts a file of visits into the tables of db, as partition p of a topic that nobody else counts. Called again, it resumes.
// After each chunk it calls tell with the number of visits left. It returns an error if the outcome of a write is unknown: only a log
// could settle that.
func CountFile(ctx context.Context, cfg configs.Consumer, db store.Store, p models.Partition, file VisitsFile, log *slog.Logger, tell func(left int64)) error {
	c, err := NewReplay(cfg, db, log)
	if err != nil {
		return err
	}
	o := &ownership{
		store: db, owner: c.owner, hasher: c.hasher, visitors: c.visitors, ledger: c.ledger, names: c.names, deadLetters: eventlog.DiscardDeadLetters{}, metrics: c.metrics,
		log: log, maxSpan: repair.MaxChunkSpan, splitAbove: splitAbove, keysAtOnce: keysAtOnce, doubts: repair.NewDoubter(db, c.metrics.Repair, log),
		partitions: map[models.Partition]*owned{p: {highWater: file.Lines}},
		lostGroup:  func() bool { return ctx.Err() != nil },
		bounds: func(context.Context, []models.Partition) (map[models.Partition]eventlog.Span, error) {
			return map[models.Partition]eventlog.Span{p: {From: 0, To: file.Lines}}, nil
		},
	}
	if err := o.take(ctx); err != nil {
		return err
	}
	own := o.partitions[p]
	if !own.tenure.Fresh && db.WriteTimeout() > 0 {
		return errors.New("an earlier run was killed while it wrote, so that some visits may be counted twice or not at all: drop these" +
			" tables and run it again")
	}
	own.next, own.window = own.tenure.Committed, eventlog.NewWindow(eventlog.Reach{}, own.tenure.Committed)
	err = o.countFile(ctx, p, file, c.Config.Chunk.MaxEvents, tell)
	if err == nil || ctx.Err() != nil { // if interrupted, then between two chunks: no write is under way
		err = errors.Join(err, o.release(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return err
	}
	doubts, err := db.Doubts(ctx, p)
	if err != nil || len(doubts) == 0 {
		return err
	}
	return fmt.Errorf("the outcome of %d writes is unknown, so that some visits may be counted twice or not at all: drop these tables and"+
		" run it again", len(doubts))
}

func (o *ownership) countFile(ctx context.Context, p models.Partition, file VisitsFile, most int, tell func(left int64)) error {
	working := context.WithoutCancel(ctx) // a chunk that was begun is finished, or it would be in doubt
	noGroup := func(context.Context, map[models.Partition]eventlog.GroupOffset) error { return nil }
	c, offset, start := o.newChunk(), int64(0), o.partitions[p].next
	err := file.Read(func(v *models.Visit) error {
		if offset++; offset <= start {
			return nil
		}
		o.add(c, eventlog.Item{Partition: p, Offset: offset - 1, Event: v, HighWater: file.Lines})
		if c.events.Len() < most && c.events.Cost() < costAtOnce {
			return nil
		}
		full := c
		c = o.newChunk()
		if err := o.countChunk(working, full, noGroup); err != nil {
			return err
		}
		tell(file.Lines - offset)
		return ctx.Err()
	})
	if err == nil && len(c.spans) > 0 {
		err = o.countChunk(working, c, noGroup)
	}
	return err
}
