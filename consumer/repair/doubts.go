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

// replicaPatience is how long the next check waits if a replica did not answer.
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
	doubts, err := c.Store.Doubts(ctx, p)
	if err != nil {
		return err
	}
	c.Metrics.open(p, len(doubts))
	var failed []error
	for _, d := range doubts {
		if now.Before(c.due(d)) {
			continue
		}
		if err := c.checkDoubt(ctx, d, now); err != nil {
			failed = append(failed, err) // one that fails must not keep the others from being checked
		}
	}
	return errors.Join(failed...)
}

// checkDoubt checks one doubt. If it repairs, a new doubt replaces the old one before the repair is sent: the repair's outcome
// may be unknown, so it has to be checked, too.
func (c *Checker) checkDoubt(ctx context.Context, d store.Doubt, now time.Time) error {
	f, err := c.Check(ctx, d.Partition, eventlog.Span{From: d.From, To: d.To}, nil, c.NoteAgain(ctx, d))
	if eventlog.IsRefusal(err) || f.Gone > 0 {
		c.Metrics.unsettled.Inc()
		c.Logger.Error("a doubt cannot be settled: the log or the visitors' rows it needs are gone; counts may stay wrong", "topic", d.Partition.Topic,
			"partition", d.Partition.Number, "from", d.From, "to", d.To, "offsets_gone", f.Gone, "reason", d.Reason, "error", err)
	}
	switch {
	case eventlog.IsRefusal(err):
		return c.Store.SettleDoubt(ctx, d)
	case f.renewed:
		return errors.Join(err, c.Store.SettleDoubt(ctx, d))
	case err != nil:
		return err
	case !f.complete: // a replica may be down for days: update the doubt in place, since each deletion leaves a tombstone
		d.From, d.Checks, d.NotedAt = d.From+f.Gone, 0, now.Add(replicaPatience).Truncate(time.Millisecond)
		return c.Store.NoteDoubt(ctx, d)
	case d.Checks+1 < len(c.Rechecks):
		// A check that is late, because the store did not answer, must not be followed by the next one at once.
		if due := c.due(d); now.After(due) {
			d.NotedAt = d.NotedAt.Add(now.Sub(due)).Truncate(time.Millisecond)
		}
		d.From += f.Gone
		d.Checks++
		return c.Store.NoteDoubt(ctx, d)
	}
	return c.Store.SettleDoubt(ctx, d)
}

// due is when a doubt is to be checked next.
func (c *Checker) due(d store.Doubt) time.Time {
	return d.NotedAt.Add(c.Store.WriteTimeout() + SettleMargin + c.Rechecks[min(d.Checks, len(c.Rechecks)-1)])
}

// NoteAgain returns a function that doubts d's offsets anew at each call, under a new ID: whoever settles an older doubt, perhaps
// by a clock that is ahead, must not remove this one.
func (c *Checker) NoteAgain(ctx context.Context, d store.Doubt) func() error {
	return func() error {
		d.ID, d.Checks, d.NotedAt = c.NewID(), 0, time.Now().Truncate(time.Millisecond)
		return c.Store.NoteDoubt(ctx, d)
	}
}
