package rollup

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

// rechecks are the times after which a doubt is looked at, from when it was noted. The first is after the store's write
// timeout, when nearly all is over; the others find what a node held back for longer. A doubt that has passed the last one
// is settled.
var rechecks = []time.Duration{0, time.Minute, 10 * time.Minute}

// replicaPatience is how long a doubt rests where a replica did not answer.
const replicaPatience = time.Minute

// doubtInterval is how often an owner looks for doubts, its own and those that others left about its partitions.
const doubtInterval = 2 * time.Second

// watchDoubts checks the doubts about partitions, those that are due, until ctx ends.
func (c *checker) watchDoubts(ctx context.Context, partitions []models.Partition) {
	for sleep(ctx, doubtInterval) == nil {
		for _, p := range partitions {
			if err := c.checkDoubts(ctx, p, time.Now()); err != nil && ctx.Err() == nil {
				c.logger.Warn("checking doubts failed; trying again", "topic", p.Topic, "partition", p.Number, "error", err)
			}
		}
	}
}

// checkDoubts checks the doubts about one partition that are due.
func (c *checker) checkDoubts(ctx context.Context, p models.Partition, now time.Time) error {
	doubts, err := c.store.Doubts(ctx, p)
	if err != nil {
		return err
	}
	c.metrics.doubted(p, len(doubts))
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
func (c *checker) checkDoubt(ctx context.Context, d store.Doubt, now time.Time) error {
	f, err := c.check(ctx, d.Partition, span{d.From, d.To}, nil, c.noteAgain(ctx, d))
	if unreadable(err) || f.gone > 0 {
		c.metrics.unsettled.Inc()
		c.logger.Error("a doubt cannot be settled: the log no longer holds what it takes", "topic", d.Partition.Topic,
			"partition", d.Partition.Number, "from", d.From, "to", d.To, "offsets_gone", f.gone, "reason", d.Reason, "error", err)
	}
	switch {
	case unreadable(err):
		return c.store.SettleDoubt(ctx, d)
	case f.renewed:
		return errors.Join(err, c.store.SettleDoubt(ctx, d))
	case err != nil:
		return err
	case !f.complete: // a replica has still to be asked, perhaps for days: in place, since each deletion leaves a tombstone
		d.From, d.Checks, d.NotedAt = d.From+f.gone, 0, now.Add(replicaPatience).Truncate(time.Millisecond)
		return c.store.NoteDoubt(ctx, d)
	case d.Checks+1 < len(rechecks):
		// One that is late, because the store did not answer, must not be followed by the next at once.
		if due := c.due(d); now.After(due) {
			d.NotedAt = d.NotedAt.Add(now.Sub(due)).Truncate(time.Millisecond)
		}
		d.From += f.gone
		d.Checks++
		return c.store.NoteDoubt(ctx, d)
	}
	return c.store.SettleDoubt(ctx, d)
}

// due is when a doubt is to be looked at next.
func (c *checker) due(d store.Doubt) time.Time {
	return d.NotedAt.Add(c.store.WriteTimeout() + settleMargin + rechecks[min(d.Checks, len(rechecks)-1)])
}

// noteAgain notes d's offsets anew each time it is called, under a number of its own: one who settles an older doubt, perhaps by
// a clock that is ahead, must not take this one with it.
func (c *checker) noteAgain(ctx context.Context, d store.Doubt) func() error {
	return func() error {
		d.ID, d.Checks, d.NotedAt = c.number(), 0, time.Now().Truncate(time.Millisecond)
		return c.store.NoteDoubt(ctx, d)
	}
}

// doubt notes that spans are in doubt. It goes on trying until the store answers or ctx ends; should this process die
// first, its successor doubts the same offsets, since it finds that nobody left clean.
func (o *ownership) doubt(ctx context.Context, spans map[models.Partition]span, reason string) error {
	for _, p := range slices.SortedFunc(maps.Keys(spans), models.Partition.Compare) {
		for _, s := range spans[p].pieces() {
			d := store.Doubt{Partition: p, ID: o.number(), From: s.from, To: s.to, Reason: reason, NotedAt: time.Now().Truncate(time.Millisecond)}
			if err := o.note(ctx, d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *ownership) note(ctx context.Context, d store.Doubt) error {
	for attempt := 0; ; attempt++ {
		err := o.store.NoteDoubt(ctx, d)
		if err == nil {
			o.metrics.doubts.Inc()
			return nil
		}
		o.log.Warn("noting a doubt failed; trying again", "attempt", attempt+1, "error", err)
		if err := sleep(ctx, backoff(attempt)); err != nil {
			return err
		}
	}
}

// An owner whose time is up gets this much to note its doubts. A pause may use up one attempt.
const (
	lastWordAttempts = 3
	lastWordTimeout  = 2 * time.Second
)

// lastWord notes that spans were counted by an owner that may not have been one any more. It does so after ctx has ended
// too: one that was paused may have a successor who settled these offsets long ago.
func (o *ownership) lastWord(ctx context.Context, spans map[models.Partition]span) (err error) {
	for range lastWordAttempts {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWordTimeout)
		err = o.doubt(within, spans, store.DoubtLost)
		cancel()
		if err == nil {
			return nil
		}
	}
	return err
}
