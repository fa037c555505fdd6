package eventlog

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"footfall/consumer/store"
	"footfall/internal/retry"
	"footfall/models"
)

// An item that a retirement will decide about is held back until it has. Whoever announced it may have died: then somebody
// who waits for it gives it up.
const (
	holdInterval = 250 * time.Millisecond
	holdPatience = time.Minute
)

// RetirementWatcher is a process's copy of the notices. Safe for concurrent use.
type RetirementWatcher struct {
	store store.Store
	log   *slog.Logger
	turn  chan struct{} // holds one while somebody reads the notices because they are too old

	mu        sync.Mutex
	notices   store.Notices
	asked     time.Time // zero: never
	forgotten bool      // somebody was, and the cache of visitors has not been told
}

// NewRetirementWatcher makes one that has not read anything yet.
func NewRetirementWatcher(store store.Store, log *slog.Logger) *RetirementWatcher {
	return &RetirementWatcher{store: store, log: log, turn: make(chan struct{}, 1)}
}

// Read reads the notices, however new the copy is.
func (b *RetirementWatcher) Read(ctx context.Context) error {
	asked := time.Now() // the answer may be as old as the question
	n, err := b.store.Notices(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if asked.Before(b.asked) {
		return nil // somebody asked later and was answered sooner; what is decided stays so
	}
	b.forgotten = b.forgotten || !b.asked.IsZero() && n.Forgotten != b.notices.Forgotten
	b.notices, b.asked = n, asked
	return nil
}

// Fresh makes sure that the copy is not too old. It goes on trying until the store answers or ctx ends.
func (b *RetirementWatcher) Fresh(ctx context.Context) error {
	for b.Age() >= store.NoticeAge {
		if err := b.renew(ctx, store.NoticeAge); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// renew reads the notices if the copy is as old as that, and returns when somebody has. One at a time asks the store and the others
// have its answer: they may be as many as there are partitions. It goes on trying until the store answers or ctx ends.
func (b *RetirementWatcher) renew(ctx context.Context, age time.Duration) error {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if b.Age() < age {
		return nil
	}
	for attempt := 0; ; attempt++ {
		err := b.Read(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			b.log.Warn("reading notices failed; trying again", "attempt", attempt+1, "error", err)
		}
		if err := retry.Sleep(ctx, retry.Backoff(attempt)); err != nil {
			return err
		}
	}
}

// Age is that of the copy, by the clock that runs on and by the one on the wall: the first stands still while a machine is
// suspended.
func (b *RetirementWatcher) Age() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asked.IsZero() {
		return store.NoticeAge
	}
	now := time.Now()
	return max(now.Sub(b.asked), now.Round(0).Sub(b.asked.Round(0)))
}

// List is the copy of the retirements, however old it is.
func (b *RetirementWatcher) List() store.Retirements {
	if b == nil {
		return nil // nobody tells anything: a file is counted
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notices.Retirements
}

// TakeForgotten tells, once, whether visitors were forgotten since it was last asked.
func (b *RetirementWatcher) TakeForgotten() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	news := b.forgotten
	b.forgotten = false
	return news
}

// Gate parks the partition of a visit that a retirement will decide about.
func (b *RetirementWatcher) Gate(ctx context.Context, it Item) error {
	return b.Await(ctx, it.Event)
}

// Await returns when it is known whether the event may be counted. The event must have been read from the log before: only
// then does the copy's age say something about what was announced before the event was written.
func (b *RetirementWatcher) Await(ctx context.Context, e models.Event) error {
	if _, visit := e.(*models.Visit); !visit || b == nil {
		return nil
	}
	if err := b.Fresh(ctx); err != nil {
		return err
	}
	for since := time.Now(); ; {
		r, held := b.List().Undecided(e)
		if !held {
			return nil
		}
		if time.Since(since) > holdPatience {
			given, err := b.store.Withdraw(ctx, r.Before)
			b.log.Warn("a retirement was announced and never decided: giving it up", "before", r.Before.Time(), "given_up", given,
				"error", err)
		}
		if err := retry.Sleep(ctx, holdInterval); err != nil {
			return err
		}
		if err := b.renew(ctx, holdInterval); err != nil {
			return err
		}
	}
}
