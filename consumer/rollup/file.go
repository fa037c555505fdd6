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

// VisitsFile is a file of visits that stands for a partition of the log: a visit's place in it is its offset.
type VisitsFile struct {
	Name  string
	Site  string // if it was named beside the file
	Lines int64
	Sum   string // SHA-256 of its bytes
	// Read hands on the visits in order, until one call returns an error.
	Read func(each func(*models.Visit) error) error
}

// CountFile counts a file of visits into the tables of db, as if it were a partition of one topic that nobody else counts. Run again, it goes on
// where it was. tell gets how many visits are left after each chunk. It returns an error if a write was of unknown outcome: a file cannot settle that.
func CountFile(ctx context.Context, cfg configs.Consumer, db store.Store, p models.Partition, file VisitsFile, log *slog.Logger, tell func(left int64)) error {
	c, err := NewReplay(cfg, db, log)
	if err != nil {
		return err
	}
	o := &ownership{
		store: db, owner: c.owner, hasher: c.hasher, visitors: c.visitors, ledger: c.ledger, deadLetters: eventlog.DiscardDeadLetters{}, metrics: c.metrics,
		log: log, maxSpan: repair.MaxChunkSpan, splitAbove: splitAbove, doubts: repair.NewDoubter(db, c.metrics.repair, log),
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
		return errors.New("an earlier run was killed while it wrote, and a file cannot settle what became of that: drop these tables and" +
			" run it again")
	}
	own.next, own.window = own.tenure.Committed, eventlog.NewWindow(eventlog.Reach{}, own.tenure.Committed)
	err = o.countFile(ctx, p, file, min(c.Config.Chunk.MaxEvents, repair.MaxChunkSpan), tell)
	if err == nil || ctx.Err() != nil { // interrupted between two chunks it leaves clean as well
		err = errors.Join(err, o.release(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return err
	}
	doubts, err := db.Doubts(ctx, p)
	if err != nil || len(doubts) == 0 {
		return err
	}
	return fmt.Errorf("%d writes were of unknown outcome, and a file cannot settle that: drop these tables and run it again", len(doubts))
}

func (o *ownership) countFile(ctx context.Context, p models.Partition, file VisitsFile, most int, tell func(left int64)) error {
	working := context.WithoutCancel(ctx) // what is begun is finished, or it would be in doubt
	noGroup := func(context.Context, map[models.Partition]eventlog.GroupOffset) error { return nil }
	c, offset, start := newChunk(), int64(0), o.partitions[p].next
	err := file.Read(func(v *models.Visit) error {
		if offset++; offset <= start {
			return nil
		}
		o.add(c, eventlog.Item{Partition: p, Offset: offset - 1, Event: v, HighWater: file.Lines})
		if len(c.events) < most {
			return nil
		}
		full := c
		c = newChunk()
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
