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

// A visit that an announced retirement may refuse is held until the retirement is decided. The process that announced it may have died: a
// consumer that has waited for holdPatience withdraws the retirement.
const (
	holdInterval = 250 * time.Millisecond
	holdPatience = time.Minute
)

// RetirementWatcher is a process's copy of the notices, read again when it is too old. Safe for concurrent use.
type RetirementWatcher struct {
	store store.Store
	log   *slog.Logger
	turn  chan struct{} // full while a goroutine renews the notices

	mu        sync.Mutex
	notices   store.Notices
	asked     time.Time // when the copy was asked for; zero: never
	forgotten bool      // a visitor was forgotten since TakeForgotten was last called
}

// NewRetirementWatcher makes a watcher that has not read anything yet.
func NewRetirementWatcher(store store.Store, log *slog.Logger) *RetirementWatcher {
	return &RetirementWatcher{store: store, log: log, turn: make(chan struct{}, 1)}
}

// Read reads the notices once, however fresh the copy is. It does not retry.
func (w *RetirementWatcher) Read(ctx context.Context) error {
	asked := time.Now() // the store may answer with what was true now, not later
	n, err := w.store.Notices(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if asked.Before(w.asked) {
		return nil // another goroutine asked later: its answer is newer
	}
	w.forgotten = w.forgotten || !w.asked.IsZero() && n.Forgotten != w.notices.Forgotten
	w.notices, w.asked = n, asked
	return nil
}

// Fresh renews the copy if it is older than store.NoticeAge. It retries until the store answers or ctx ends.
func (w *RetirementWatcher) Fresh(ctx context.Context) error {
	for w.Age() >= store.NoticeAge {
		if err := w.renew(ctx, store.NoticeAge); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// renew reads the notices if the copy is at least that old. One goroutine at a time asks the store, and the others share its answer: there
// may be as many as partitions. It retries until the store answers or ctx ends.
func (w *RetirementWatcher) renew(ctx context.Context, age time.Duration) error {
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if w.Age() < age {
		return nil
	}
	for attempt := 0; ; attempt++ {
		err := w.Read(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			w.log.Warn("reading notices failed; trying again", "attempt", attempt+1, "error", err)
		}
		if err := retry.Sleep(ctx, retry.Backoff(attempt)); err != nil {
			return err
		}
	}
}

// Age is how old the copy is.
func (w *RetirementWatcher) Age() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked.IsZero() {
		return store.NoticeAge
	}
	return retry.Since(w.asked)
}

// List returns the copy of the retirements, however old it is. A nil watcher has none.
func (w *RetirementWatcher) List() store.Retirements {
	if w == nil {
		return nil // a file is counted: there are no notices
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.notices.Retirements
}

// TakeForgotten tells whether visitors were forgotten since the last call.
func (w *RetirementWatcher) TakeForgotten() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	news := w.forgotten
	w.forgotten = false
	return news
}

// Gate is a Gate: it blocks the partition of a visit that an announced retirement may refuse.
func (w *RetirementWatcher) Gate(ctx context.Context, it Item) error {
	return w.Await(ctx, it.Event)
}

// Await returns when no undecided retirement may refuse the event, or ctx ends. The event must have been read from the log before the call:
// only then does a fresh copy have all retirements that were announced before the event was written.
func (w *RetirementWatcher) Await(ctx context.Context, e models.Event) error {
	if _, visit := e.(*models.Visit); !visit || w == nil {
		return nil
	}
	if err := w.Fresh(ctx); err != nil {
		return err
	}
	for since := time.Now(); ; {
		r, held := w.List().Undecided(e)
		if !held {
			return nil
		}
		if time.Since(since) > holdPatience {
			withdrawn, err := w.store.Withdraw(ctx, r.Before)
			w.log.Warn("a retirement was announced but not decided in time: withdrawing it", "before", r.Before.Time(), "withdrawn", withdrawn,
				"error", err)
		}
		if err := retry.Sleep(ctx, holdInterval); err != nil {
			return err
		}
		if err := w.renew(ctx, holdInterval); err != nil {
			return err
		}
	}
}
