package eventlog

import (
	"context"
	"log/slog"
	"time"

	"footfall/consumer/store"
	"footfall/internal/retry"
	"footfall/models"
)

// Succession parks the partitions of a generation until all of the one before it is counted. A visitor may be in both, and in another
// partition of each: who was first is decided in the order of the generations, so nobody may look up a visitor of the later one
// while somebody may still find one in the earlier.
type Succession struct {
	store store.Store
	after *Source
	log   *slog.Logger
	open  chan struct{} // closed when it is: it stays so
}

// newSuccession makes a gate that is closed until await opens it.
func newSuccession(store store.Store, after *Source, log *slog.Logger) *Succession {
	return &Succession{store: store, after: after, log: log, open: make(chan struct{})}
}

// Gate implements gate.
func (s *Succession) Gate(ctx context.Context, _ Item) error {
	select {
	case <-s.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// successionInterval is how often it is looked whether the generation before is counted.
const successionInterval = 500 * time.Millisecond

// Await opens the gate when it is time, or returns when ctx ends.
func (s *Succession) Await(ctx context.Context) {
	for attempt := 0; ; {
		yes, err := CountedToSeal(ctx, s.store, s.after)
		switch {
		case yes:
			close(s.open)
			return
		case err != nil && ctx.Err() == nil:
			s.log.Warn("looking how far the generation before is counted failed; trying again", "topic", s.after.Topic, "error", err)
			attempt++
		}
		if retry.Sleep(ctx, successionInterval+retry.Backoff(attempt)-retry.Backoff(0)) != nil {
			return
		}
	}
}

// CountedToSeal tells whether all of a generation, and of those before it, is counted, and records it.
func CountedToSeal(ctx context.Context, store store.Store, s *Source) (bool, error) {
	if s.Before != nil { // whatever is recorded of this one: an operator may have accepted that it is gone, and the one before is to be counted
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

// LeftToSeal is how many offsets of a sealed generation nobody has said to have counted.
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
