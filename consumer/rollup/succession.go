package rollup

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

// succession parks the partitions of a generation until all of the one before it is counted. A visitor may be in both, and in another
// partition of each: who was first is decided in the order of the generations, so nobody may look up a visitor of the later one
// while somebody may still find one in the earlier.
type succession struct {
	store store.Store
	after *source
	log   *slog.Logger
	open  chan struct{} // closed when it is: it stays so
}

func newSuccession(store store.Store, after *source, log *slog.Logger) *succession {
	return &succession{store: store, after: after, log: log, open: make(chan struct{})}
}

// gate implements gate.
func (s *succession) gate(ctx context.Context, _ item) error {
	select {
	case <-s.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// successionInterval is how often it is looked whether the generation before is counted.
const successionInterval = 500 * time.Millisecond

// await opens the gate when it is time, or returns when ctx ends.
func (s *succession) await(ctx context.Context) {
	for attempt := 0; ; {
		yes, err := countedToSeal(ctx, s.store, s.after)
		switch {
		case yes:
			close(s.open)
			return
		case err != nil && ctx.Err() == nil:
			s.log.Warn("looking how far the generation before is counted failed; trying again", "topic", s.after.topic, "error", err)
			attempt++
		}
		if sleep(ctx, successionInterval+backoff(attempt)-backoff(0)) != nil {
			return
		}
	}
}

// countedToSeal tells whether all of a generation, and of those before it, is counted, and records it.
func countedToSeal(ctx context.Context, store store.Store, s *source) (bool, error) {
	recorded, err := store.Setting(ctx, fact(s.topic, factCounted), "")
	if err != nil || recorded != "" || s.seal == nil {
		return recorded != "", err
	}
	if s.before != nil { // of an empty one nothing is to be counted, whatever is before it
		if yes, err := countedToSeal(ctx, store, s.before); !yes || err != nil {
			return false, err
		}
	}
	left, err := leftToSeal(ctx, store, s)
	if err != nil || left > 0 {
		return false, err
	}
	_, err = store.Setting(ctx, fact(s.topic, factCounted), "all of it")
	return err == nil, err
}

// leftToSeal is how many offsets of a sealed generation nobody has said to have counted.
func leftToSeal(ctx context.Context, store store.Store, s *source) (left int64, err error) {
	for n := range s.partitions() {
		to, err := store.Committed(ctx, models.Partition{Topic: s.topic, Number: n})
		if err != nil {
			return 0, err
		}
		left += max(0, s.seal.Ends[n]-to)
	}
	return left, nil
}

// atEnd tells whether the partition is counted to where it ends for good, and the store does not know.
func (p *owned) atEnd() bool { return p.sealed && p.counted.Load() >= p.end && p.noted.Load() < p.end }

// endInterval is how long it may take to note that a partition is counted to its end.
const endInterval = 5 * time.Second

// errUnnoted: others wait to hear that a partition is counted to its end, and nothing is left to count that it could be said with.
var errUnnoted = errors.New("that a partition is counted to its end was not noted: letting go of it says so")

// watchEnds returns errUnnoted when that is so, or nil when ctx ends.
func (o *ownership) watchEnds(ctx context.Context) error {
	waits := map[models.Partition]bool{}
	for sleep(ctx, endInterval) == nil {
		for p, own := range o.partitions {
			if !own.atEnd() {
				delete(waits, p)
			} else if waits[p] {
				return errUnnoted
			} else {
				waits[p] = true
			}
		}
	}
	return nil
}
