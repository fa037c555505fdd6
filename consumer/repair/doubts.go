package repair

import (
	"context"
	"errors"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/internal/retry"
	"footfall/models"
)

// rechecks: the first check, right after the store's write timeout, finds nearly every late write. The others find what a node held
// back for longer.
var rechecks = []time.Duration{0, time.Minute, 10 * time.Minute}

// replicaPatience is how long the next check waits if a replica did not answer, and the longest that one waits after a check that failed.
const replicaPatience = time.Minute

// doubtInterval is how often an owner looks for doubts, its own and those that others left about its partitions.
const doubtInterval = 2 * time.Second

// WatchDoubts checks the due doubts about partitions, until ctx ends.
func (c *Checker) WatchDoubts(ctx context.Context, partitions []models.Partition) {
	for retry.Sleep(ctx, doubtInterval) == nil {
		for _, p := range partitions {
			if err := c.checkDoubts(ctx, p, time.Now()); err != nil && ctx.Err() == nil {
				c.Logger.Warn("checking doubts failed; trying again", "topic", p.Topic, "partition", p.Number, "error", err)
			}
		}
	}
}

// checkDoubts checks the due doubts about one partition.
func (c *Checker) checkDoubts(ctx context.Context, p models.Partition, now time.Time) error {
	doubts, err := c.unite(ctx, p, nil)
	if err != nil {
		return err
	}
	c.Metrics.open(p, doubts)
	var failed []error
	for _, d := range doubts {
		if now.Before(d.Due) || d.Reason == store.DoubtUnsettled {
			continue
		}
		if err := c.checkDoubt(ctx, d, now); err != nil {
			failed = append(failed, err) // one that fails must not keep the others from being checked
		}
	}
	return errors.Join(failed...)
}

// checkDoubt checks one doubt. If it repairs, a new doubt replaces the old one before the repair is sent: the repair's outcome
// may be unknown, so it has to be checked, too. Otherwise it updates the doubt in place, since each deletion leaves a tombstone.
func (c *Checker) checkDoubt(ctx context.Context, d store.Doubt, now time.Time) error {
	id := d.ID
	f, err := c.Check(ctx, d.Partition, eventlog.Span{From: d.From, To: d.To}, nil, c.Renew(ctx, &d))
	repaired := d.ID != id
	switch {
	case err != nil && (repaired || !eventlog.IsRefusal(err)): // wait longer each time
		wait := min(max(now.Sub(d.Since)/4, doubtInterval), replicaPatience)
		if at := now.Add(wait).Truncate(time.Millisecond); at.After(d.Due) {
			d.Due = at
		}
		return errors.Join(err, c.Store.NoteDoubt(ctx, d))
	case repaired:
		return nil
	case err != nil:
		return c.giveUp(ctx, d, d.To, err)
	case f.Gone > 0: // the rest stays due
		return c.giveUp(ctx, d, d.From+f.Gone, nil)
	}
	return c.settle(ctx, d, f.complete, now)
}

// settle notes that a check found nothing. It removes the doubt after the last check.
func (c *Checker) settle(ctx context.Context, d store.Doubt, complete bool, now time.Time) error {
	landed := c.landed(d)
	switch {
	case !complete: // a replica may be down for days
		d.Checks, d.Due = 0, now.Add(replicaPatience)
	case now.Before(landed): // due so early because of an older one
		d.Due = landed
	case d.Checks+1 < len(c.Rechecks): // counted from this check, which may be late: the next must not follow at once
		d.Due = now.Add(c.Rechecks[d.Checks+1] - c.Rechecks[d.Checks])
		d.Checks++
	default:
		return c.Store.SettleDoubt(ctx, d)
	}
	d.Due = d.Due.Truncate(time.Millisecond)
	return c.Store.NoteDoubt(ctx, d)
}

// giveUp notes that the offsets of d below to cannot be checked any more. That stays until an operator accepts it (consumer accept-gap).
func (c *Checker) giveUp(ctx context.Context, d store.Doubt, to int64, why error) error {
	c.Logger.Error("a doubt cannot be settled: the log or the visitors' rows it needs are gone; counts may stay wrong", "topic", d.Partition.Topic,
		"partition", d.Partition.Number, "from", d.From, "to", to, "reason", d.Reason, "error", why)
	left := d
	left.ID, left.To, left.Reason = c.NewID(), to, store.DoubtUnsettled
	if err := c.Store.NoteDoubt(ctx, left); err != nil {
		return err
	}
	if d.From = to; d.From < d.To {
		return c.Store.NoteDoubt(ctx, d)
	}
	return c.Store.SettleDoubt(ctx, d)
}
