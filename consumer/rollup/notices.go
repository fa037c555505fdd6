package rollup

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"footfall/models"
)

// Notices is what consumers have to be told while they run.
type Notices struct {
	Retirements []Retirement
	// Forgotten changes each time somebody removes a visitor's rows: what is remembered of visitors is no longer true.
	Forgotten string
}

// noticeAge is how old the notices may be that something is decided by. Consumers that count nothing do not ask.
const noticeAge = 2 * time.Second

// noticeMargin is how long after a notice was given nobody decides without it any more.
const noticeMargin = 3 * noticeAge

// An item that a retirement will decide about is held back until it has. Whoever announced it may have died: then somebody
// who waits for it gives it up.
const (
	holdInterval = 250 * time.Millisecond
	holdPatience = time.Minute
)

// board is a process's copy of the notices. Safe for concurrent use.
type board struct {
	store Store
	log   *slog.Logger
	turn  chan struct{} // holds one while somebody reads the notices because they are too old

	mu        sync.Mutex
	notices   Notices
	asked     time.Time // zero: never
	forgotten bool      // somebody was, and the LRU has not been told
}

func newBoard(store Store, log *slog.Logger) *board {
	return &board{store: store, log: log, turn: make(chan struct{}, 1)}
}

// look reads the notices, however new the copy is.
func (b *board) look(ctx context.Context) error {
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

// fresh makes sure that the copy is not too old. It goes on trying until the store answers or ctx ends.
func (b *board) fresh(ctx context.Context) error {
	for b.age() >= noticeAge {
		if err := b.renew(ctx, noticeAge); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// renew reads the notices if the copy is as old as that, and returns when somebody has. One at a time asks the store and the others
// have its answer: they may be as many as there are partitions. It goes on trying until the store answers or ctx ends.
func (b *board) renew(ctx context.Context, age time.Duration) error {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if b.age() < age {
		return nil
	}
	for attempt := 0; ; attempt++ {
		err := b.look(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			b.log.Warn("reading notices failed; trying again", "attempt", attempt+1, "error", err)
		}
		if err := sleep(ctx, backoff(attempt)); err != nil {
			return err
		}
	}
}

// age is that of the copy, by the clock that runs on and by the one on the wall: the first stands still while a machine is
// suspended.
func (b *board) age() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asked.IsZero() {
		return noticeAge
	}
	now := time.Now()
	return max(now.Sub(b.asked), now.Round(0).Sub(b.asked.Round(0)))
}

func (b *board) list() []Retirement {
	if b == nil {
		return nil // a test without notices
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notices.Retirements
}

// news tells, once, whether visitors were forgotten since it was last asked.
func (b *board) news() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	news := b.forgotten
	b.forgotten = false
	return news
}

// gate parks the partition of a visit that a retirement will decide about.
func (b *board) gate(ctx context.Context, it item) error { return b.await(ctx, it.event) }

// await returns when it is known whether the event may be counted. The event must have been read from the log before: only
// then does the copy's age say something about what was announced before the event was written.
func (b *board) await(ctx context.Context, e models.Event) error {
	if _, visit := e.(*models.Visit); !visit || b == nil {
		return nil
	}
	if err := b.fresh(ctx); err != nil {
		return err
	}
	for since := time.Now(); ; {
		r, held := undecided(b.list(), e)
		if !held {
			return nil
		}
		if time.Since(since) > holdPatience {
			given, err := b.store.Withdraw(ctx, r.Before)
			b.log.Warn("a retirement was announced and never decided: giving it up", "before", r.Before.Time(), "given_up", given,
				"error", err)
		}
		if err := sleep(ctx, holdInterval); err != nil {
			return err
		}
		if err := b.renew(ctx, holdInterval); err != nil {
			return err
		}
	}
}
