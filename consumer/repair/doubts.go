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

// replicaPatience is how long a doubt rests where a replica did not answer.
const replicaPatience = time.Minute

// doubtInterval is how often an owner looks for doubts, its own and those that others left about its partitions.
const doubtInterval = 2 * time.Second

// WatchDoubts checks the doubts about partitions, those that are due, until ctx ends.
func (c *Checker) WatchDoubts(ctx context.Context, partitions []models.Partition) {
	for retry.Sleep(ctx, doubtInterval) == nil {
		for _, p := range partitions {
			if err := c.checkDoubts(ctx, p, time.Now()); err != nil && ctx.Err() == nil {
				c.Logger.Warn("checking doubts failed; trying again", "topic", p.Topic, "partition", p.Number, "error", err)
			}
		}
	}
}

// checkDoubts checks the doubts about one partition that are due.
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

// checkDoubt checks one doubt. Where it repairs, a new doubt takes the place of the old one, before the repair is sent: the
// repair may be of unknown outcome, and wants to be seen.
func (c *Checker) checkDoubt(ctx context.Context, d store.Doubt, now time.Time) error {
	f, err := c.Check(ctx, d.Partition, eventlog.Span{From: d.From, To: d.To}, nil, c.NoteAgain(ctx, d))
	if eventlog.IsRefusal(err) || f.Gone > 0 {
		c.Metrics.unsettled.Inc()
		c.Logger.Error("a doubt cannot be settled: the log no longer holds what it takes", "topic", d.Partition.Topic,
			"partition", d.Partition.Number, "from", d.From, "to", d.To, "offsets_gone", f.Gone, "reason", d.Reason, "error", err)
	}
	switch {
	case eventlog.IsRefusal(err):
		return c.Store.SettleDoubt(ctx, d)
	case f.renewed:
		return errors.Join(err, c.Store.SettleDoubt(ctx, d))
	case err != nil:
		return err
	case !f.complete: // a replica has still to be asked, perhaps for days: in place, since each deletion leaves a tombstone
		d.From, d.Checks, d.NotedAt = d.From+f.Gone, 0, now.Add(replicaPatience).Truncate(time.Millisecond)
		return c.Store.NoteDoubt(ctx, d)
	case d.Checks+1 < len(c.Rechecks):
		// One that is late, because the store did not answer, must not be followed by the next at once.
		if due := c.due(d); now.After(due) {
			d.NotedAt = d.NotedAt.Add(now.Sub(due)).Truncate(time.Millisecond)
		}
		d.From += f.Gone
		d.Checks++
		return c.Store.NoteDoubt(ctx, d)
	}
	return c.Store.SettleDoubt(ctx, d)
}

// due is when a doubt is to be looked at next.
func (c *Checker) due(d store.Doubt) time.Time {
	return d.NotedAt.Add(c.Store.WriteTimeout() + SettleMargin + c.Rechecks[min(d.Checks, len(c.Rechecks)-1)])
}

// NoteAgain notes d's offsets anew each time it is called, under a number of its own: one who settles an older doubt, perhaps by
// a clock that is ahead, must not take this one with it.
func (c *Checker) NoteAgain(ctx context.Context, d store.Doubt) func() error {
	return func() error {
		d.ID, d.Checks, d.NotedAt = c.NewID(), 0, time.Now().Truncate(time.Millisecond)
		return c.Store.NoteDoubt(ctx, d)
	}
}
