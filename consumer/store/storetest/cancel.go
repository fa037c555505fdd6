package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// testCancelledReads: a cancelled read returns an error or the rows. "Nothing found" would make every visitor new and every
// event uncounted.
func testCancelledReads(t *testing.T, s *suite) {
	w := clickWrite(t, link(), 7)
	s.apply(t, w)
	sighting := ipOn(w.Key.Name, "203.0.113.7")
	s.remember(t, map[models.Sighting]models.Position{sighting: {Topic: "clicks", Partition: 1, Offset: 2}})

	if seen, err := s.store.FirstSeen(cancelled(t), []models.Sighting{sighting}); err == nil && (len(seen) != 1 || seen[0].Topic != "clicks") {
		t.Errorf("FirstSeen called off: %v without an error", seen)
	}
	if rows, err := store.Ledgers(cancelled(t), s.store, []models.Key{w.Key}); err == nil && len(rows) != 1 {
		t.Errorf("Ledger called off: %v without an error", rows)
	}
}

// testCancelledApply cancels writes before and while they run. Every answer must be true: an acknowledged write is applied,
// a refused one is not, one of unknown outcome is applied as a whole or not at all.
func testCancelledApply(t *testing.T, s *suite) {
	var writes []store.KeyWrite
	var errs []error
	for _, after := range []time.Duration{-1, 0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond} {
		var some []store.KeyWrite
		for range 100 {
			some = append(some, clickWrite(t, link(), 7))
		}
		ctx, cancel := context.WithCancel(t.Context())
		if after < 0 {
			cancel()
		} else {
			time.AfterFunc(after, cancel)
		}
		answers := s.store.Apply(ctx, some)
		cancel()
		if len(answers) != len(some) {
			t.Fatalf("Apply of %d writes returned %d results", len(some), len(answers))
		}
		writes, errs = append(writes, some...), append(errs, answers...)
	}
	s.settle(t, errs)
	for i, w := range writes {
		s.wantTruth(t, w, errs[i])
		if t.Failed() {
			t.Fatalf("write %d was answered with: %v", i, errs[i])
		}
	}
}

// settle waits until writes of unknown outcome have landed or never will.
func (s *suite) settle(t *testing.T, errs []error) {
	for _, err := range errs {
		if errors.Is(err, store.ErrUnknownOutcome) {
			t.Logf("waiting %v for unknown outcomes, such as: %v", s.store.WriteTimeout(), err)
			time.Sleep(s.store.WriteTimeout())
			return
		}
	}
}

// wantTruth checks that the answer to a clickWrite of 7 is true.
func (s *suite) wantTruth(t *testing.T, w store.KeyWrite, answer error) {
	t.Helper()
	there := answer == nil
	if errors.Is(answer, store.ErrUnknownOutcome) {
		if s.store.WriteTimeout() == 0 {
			t.Errorf("the store says that outcomes are never unknown, but: %v", answer)
		}
		_, found, err := s.read(t.Context(), w.Key, models.Cell{Counter: models.ClickCounter})
		if err != nil {
			t.Fatal(err)
		}
		there = found
	}
	if there {
		s.wantWhole(t, w, 7)
	} else {
		s.wantWhole(t, w, 0)
	}
}

// testCancelledRemember: without an error all sightings are stored; after an error the call can be repeated.
func testCancelledRemember(t *testing.T, s *suite) {
	for _, after := range []time.Duration{-1, 0, time.Millisecond, 5 * time.Millisecond} {
		first := map[models.Sighting]models.Position{}
		link := name("link")
		for i := range 3000 {
			first[ipOn(link, fmt.Sprintf("10.1.%d.%d", i/256, i%256))] = models.Position{Topic: "clicks", Partition: i % 6, Offset: int64(i)}
		}
		ctx, cancel := context.WithCancel(t.Context())
		if after < 0 {
			cancel()
		} else {
			time.AfterFunc(after, cancel)
		}
		sightings, positions := lists(first)
		err := s.store.Remember(ctx, sightings, positions)
		cancel()
		if err == nil {
			s.wantSeen(t, first)
		}
		s.remember(t, first)
		s.wantSeen(t, first)
	}
}

// testCancelledTake: whether a cancelled take took effect may be unknown, but no later owner gets its epoch and believes
// the partition clean.
func testCancelledTake(t *testing.T, s *suite) {
	p := partition()
	a, err := s.store.Take(cancelled(t), p, "a")
	b := s.take(t, p, "b")
	switch {
	case err == nil && (b.Epoch == a.Epoch || b.Fresh):
		t.Errorf("a got %+v, then b got %+v", a, b)
	case b.Fresh != (b.Before == 0), b.Epoch == b.Before:
		t.Errorf("after a cancelled take (%v), b got %+v", err, b)
	}

	released, err := s.store.Release(cancelled(t), b, 10)
	c := s.take(t, p, "c")
	if released && err == nil && !c.Fresh {
		t.Errorf("a release was acknowledged and had no effect: %+v", c)
	}
	if c.Fresh != (c.Epoch == b.Epoch) {
		t.Errorf("b had %+v, then c got %+v", b, c)
	}
}
