package eventlog

import (
	"context"
	"log/slog"
	"time"

	"footfall/consumer/store"
	"footfall/internal/retry"
	"footfall/models"
)

// Succession blocks the partitions of a generation until all of the generation before is counted. A visitor may be in both, in different
// partitions. A visitor's first event is decided in the order of the generations, so no visitor of the later one may be looked up while
// events of the earlier one are uncounted. Safe for concurrent use.
type Succession struct {
	store store.Store
	after *Source
	log   *slog.Logger
	open  chan struct{} // closed when the gate opens; it stays open
}

// newSuccession makes a gate that blocks until Await opens it. after is the generation to wait for.
func newSuccession(store store.Store, after *Source, log *slog.Logger) *Succession {
	return &Succession{store: store, after: after, log: log, open: make(chan struct{})}
}

// Gate is a Gate.
func (s *Succession) Gate(ctx context.Context, _ Item) error {
	select {
	case <-s.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// successionInterval is how often Await asks the store whether the generation before is counted.
const successionInterval = 500 * time.Millisecond

// Await opens the gate when the generation before is counted. It returns then, or when ctx ends. Call it once.
func (s *Succession) Await(ctx context.Context) {
	for attempt := 0; ; {
		yes, err := CountedToSeal(ctx, s.store, s.after)
		switch {
		case yes:
			close(s.open)
			return
		case err != nil && ctx.Err() == nil:
			s.log.Warn("reading how far the previous generation is counted failed; trying again", "topic", s.after.Topic, "error", err)
			attempt++
		}
		if retry.Sleep(ctx, successionInterval+retry.Backoff(attempt)-retry.Backoff(0)) != nil {
			return
		}
	}
}

// CountedToSeal tells whether all of a generation, and of those before it, is counted, and records it.
func CountedToSeal(ctx context.Context, store store.Store, s *Source) (bool, error) {
	if s.Before != nil { // also if s is recorded as counted: an operator may have accepted its gap while the one before is uncounted
		if yes, err := CountedToSeal(ctx, store, s.Before); !yes || err != nil {
			return false, err
		}
	}
	recorded, err := store.Setting(ctx, Fact(s.Topic, FactCounted), "")
	if err != nil || recorded != "" || s.Seal == nil {
		return recorded != "", err
	}
	left, err := LeftToSeal(ctx, store, s)
	if err != nil || left > 0 {
		return false, err
	}
	_, err = store.Setting(ctx, Fact(s.Topic, FactCounted), "all of it")
	return err == nil, err
}

// LeftToSeal is how many offsets of a sealed generation the store does not record as counted.
func LeftToSeal(ctx context.Context, store store.Store, s *Source) (left int64, err error) {
	for n := range s.Partitions() {
		to, err := store.Committed(ctx, models.Partition{Topic: s.Topic, Number: n})
		if err != nil {
			return 0, err
		}
		left += max(0, s.Seal.Ends[n]-to)
	}
	return left, nil
}
