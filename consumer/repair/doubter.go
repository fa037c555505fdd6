package repair

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/internal/retry"
	"footfall/models"
)

// Doubter stores doubts: one for all that touch and have the same reason. Safe for concurrent use.
type Doubter struct {
	Store   store.Store
	NewID   func() int64 // unique among doubts and repairs, and not 0
	Metrics *Metrics
	Logger  *slog.Logger
}

// NewDoubter makes one whose doubts get random IDs.
func NewDoubter(db store.Store, m *Metrics, log *slog.Logger) *Doubter {
	return &Doubter{Store: db, NewID: newID, Metrics: m, Logger: log}
}

// Note puts spans in doubt. It retries until the store answers or ctx ends. If this process dies first, its successor doubts
// the same offsets, since the partitions were not left clean.
func (d *Doubter) Note(ctx context.Context, spans map[models.Partition]eventlog.Span, reason string) error {
	for _, p := range slices.SortedFunc(maps.Keys(spans), models.Partition.Compare) {
		var noted []store.Doubt
		for _, s := range Pieces(spans[p]) {
			noted = append(noted, d.begun(store.Doubt{Partition: p, From: s.From, To: s.To, Reason: reason}))
		}
		for attempt := 0; len(noted) > 0; attempt++ {
			_, err := d.unite(ctx, p, noted)
			if err == nil {
				break
			}
			d.Logger.Warn("noting a doubt failed; trying again", "attempt", attempt+1, "error", err)
			if err := retry.Sleep(ctx, retry.Backoff(attempt)); err != nil {
				return err
			}
		}
		d.Metrics.doubts.Add(float64(len(noted)))
	}
	return nil
}

// begun returns a doubt whose checks begin now. It is not stored, and has no ID.
func (d *Doubter) begun(of store.Doubt) store.Doubt {
	of.ID, of.Checks, of.NotedAt = 0, 0, time.Now().UTC().Truncate(time.Millisecond)
	of.Due = d.landed(of)
	if of.Since.IsZero() {
		of.Since = of.NotedAt
	}
	return of
}

// landed is when the writes that a doubt is about have landed or were dropped, as far as the store's own settings tell.
func (d *Doubter) landed(of store.Doubt) time.Time {
	return of.NotedAt.Add(d.Store.WriteTimeout() + SettleMargin)
}

// unite unites new doubts about p with those that are stored, and these with each other. It returns all. What is united is stored before those
// that it is made of are removed. Each row only ever says less than before, so who unites or checks at the same time loses nothing.
func (d *Doubter) unite(ctx context.Context, p models.Partition, noted []store.Doubt) ([]store.Doubt, error) {
	stored, err := d.Store.Doubts(ctx, p)
	if err != nil {
		return nil, err
	}
	all, kept := united(slices.Concat(stored, noted)), map[int64]bool{}
	for i := range all {
		if all[i].ID == 0 {
			all[i].ID = d.NewID() // a new one: nobody has checked that much
			if err := d.Store.NoteDoubt(ctx, all[i]); err != nil {
				return nil, err
			}
		}
		kept[all[i].ID] = true
	}
	for _, old := range stored {
		if !kept[old.ID] {
			if err := d.Store.SettleDoubt(ctx, old); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// united makes one doubt of those that touch, have the same reason, and lie in the same piece. One that no stored doubt equals has no ID.
func united(doubts []store.Doubt) (out []store.Doubt) {
	var parts []store.Doubt
	for _, d := range doubts {
		pieces := Pieces(eventlog.Span{From: d.From, To: d.To})
		for _, s := range pieces {
			if d.From, d.To = s.From, s.To; len(pieces) > 1 {
				d.ID = 0
			}
			parts = append(parts, d)
		}
	}
	slices.SortFunc(parts, func(a, b store.Doubt) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.From, b.From), cmp.Compare(a.ID, b.ID))
	})
	for _, d := range parts {
		if n := len(out) - 1; n >= 0 && out[n].Reason == d.Reason && out[n].To >= d.From && out[n].From/maxCheck == d.From/maxCheck {
			out[n] = union(out[n], d)
		} else {
			out = append(out, d)
		}
	}
	return out
}

// union is a doubt that needs all the checks that either needs. It is due when the first of them is, so that new ones cannot put a check off for
// ever. A check counts only if it comes after the latest writes have landed (Checker.settle).
func union(a, b store.Doubt) store.Doubt {
	u := a
	u.To, u.Checks = max(a.To, b.To), min(a.Checks, b.Checks)
	if b.Since.Before(u.Since) {
		u.Since = b.Since
	}
	if b.NotedAt.After(u.NotedAt) {
		u.NotedAt = b.NotedAt
	}
	if b.Due.Before(u.Due) {
		u.Due = b.Due
	}
	for _, one := range []store.Doubt{a, b} {
		if u.ID = one.ID; u == one {
			return u
		}
	}
	u.ID = 0
	return u
}

// Renew returns a function that doubts *at anew at each call, and sets it to what is stored then. Each gets a new ID: whoever settles
// the one before, perhaps by a clock that is ahead, must not remove this one. And each is later, if only by a millisecond: else who unites
// the two might keep the one that is removed here.
func (d *Doubter) Renew(ctx context.Context, at *store.Doubt) func() error {
	return func() error {
		before := *at
		next := d.begun(before)
		if !next.NotedAt.After(before.NotedAt) {
			next.NotedAt = before.NotedAt.Add(time.Millisecond)
			next.Due = d.landed(next)
		}
		next.ID = d.NewID()
		if err := d.Store.NoteDoubt(ctx, next); err != nil {
			return err
		}
		if *at = next; before.ID == 0 {
			return nil
		}
		return d.Store.SettleDoubt(ctx, before)
	}
}

// What an owner has for its last calls to the store, after its context has ended. A pause of the process may use up one attempt.
const (
	exitAttempts = 3
	ExitTimeout  = 2 * time.Second
)

// DoubtOnExit puts spans in doubt that an owner counted when it may have lost the partition already. It does so even after ctx
// has ended: if this process was paused, its successor may have settled its own doubt about these offsets long ago.
func (d *Doubter) DoubtOnExit(ctx context.Context, spans map[models.Partition]eventlog.Span) (err error) {
	for range exitAttempts {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), ExitTimeout)
		err = d.Note(within, spans, store.DoubtLost)
		cancel()
		if err == nil {
			return nil
		}
	}
	return err
}

// SettleMargin is added to the store's write timeout, which begins later than ours and runs by another clock.
const SettleMargin = time.Second

// MaxChunkSpan bounds the offsets of one partition in a chunk, with or without events. The successor of a crashed owner doubts twice as many,
// and reads them again three times: a larger bound makes chunks larger, and crashes more expensive.
const MaxChunkSpan = 50_000
