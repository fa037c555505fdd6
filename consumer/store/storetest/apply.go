package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"footfall/consumer/store"
	"footfall/models"
)

// clickWrite is the write of n clicks on a link at one moment, with its ledger row.
func clickWrite(t *testing.T, key models.Key, n int64) store.KeyWrite {
	ts := at(t, "2018-10-01 14:00")
	return store.KeyWrite{
		Key: key,
		Cells: map[models.Cell]int64{
			{Counter: models.ClickCounter}:                 n,
			{Counter: models.HourCounters, At: ts.Hour()}:  n,
			{Counter: models.DayCounters, At: ts.Day()}:    n,
			{Counter: models.CountryCounters, Label: "IT"}: n,
			{Counter: models.ReferrerCounters, Label: ""}:  n,
			{Counter: models.UniqueCounter}:                n,
		},
		Ledger: []store.LedgerRow{row("clicks", 0, store.KindOwner, 1, 0, n)},
	}
}

// wantWhole checks that every cell and the ledger row of a clickWrite hold n; if n is 0, that none of them exists.
func (s *suite) wantWhole(t *testing.T, w store.KeyWrite, n int64) {
	t.Helper()
	for cell := range w.Cells {
		if n == 0 {
			s.wantNoCell(t, w.Key, cell)
		} else {
			s.wantCell(t, w.Key, cell, n)
		}
	}
	var rows []store.LedgerRow
	if n > 0 {
		rows = []store.LedgerRow{row("clicks", 0, store.KindOwner, 1, 0, n)}
	}
	s.wantLedger(t, map[models.Key][]store.LedgerRow{w.Key: rows})
}

// testManyKeys applies far more keys than fit one request, twice, and reads all their ledgers at once.
func testManyKeys(t *testing.T, s *suite) {
	const keys = 2000
	month := at(t, "2018-10-01 00:00")
	var writes []store.KeyWrite
	want := map[models.Key][]store.LedgerRow{}
	for i := range keys {
		w := clickWrite(t, link(), int64(i+1))
		if i%2 == 1 {
			w.Key = site(month, "f", "")
			w.Cells = map[models.Cell]int64{{Counter: models.MonthViews, At: month}: int64(i + 1), {Counter: models.DayViews, At: month}: 1}
		}
		writes = append(writes, w)
		want[w.Key] = []store.LedgerRow{row("clicks", 0, store.KindOwner, 1, 0, 2*int64(i+1))}
	}
	s.apply(t, writes...)
	slices.Reverse(writes)
	s.apply(t, writes...)
	s.wantLedger(t, want)
	for i := 0; i < keys; i += 37 {
		for cell, n := range writes[i].Cells {
			s.wantCell(t, writes[i].Key, cell, 2*n)
		}
	}
}

// testRefusedWrite: an invalid write is refused as a whole, with the error at its place in the answer; the others are applied.
func testRefusedWrite(t *testing.T, s *suite) {
	var writes []store.KeyWrite
	bad := map[int]bool{0: true, 4: true, 9: true}
	for i := range 10 {
		w := clickWrite(t, link(), int64(i+1))
		if bad[i] {
			w.Cells[models.Cell{Counter: "nosuchcounter"}] = 1
		}
		writes = append(writes, w)
	}
	errs := s.store.Apply(t.Context(), writes)
	if len(errs) != len(writes) {
		t.Fatalf("Apply of %d writes returned %d results", len(writes), len(errs))
	}
	for i, w := range writes {
		delete(w.Cells, models.Cell{Counter: "nosuchcounter"})
		switch {
		case !bad[i] && errs[i] != nil:
			t.Errorf("write %d: %v", i, errs[i])
		case !bad[i]:
			s.wantWhole(t, w, int64(i+1))
		case errs[i] == nil:
			t.Errorf("write %d has an unknown counter and was acknowledged", i)
		case errors.Is(errs[i], store.ErrUnknownOutcome):
			t.Errorf("write %d was refused, its outcome is not unknown: %v", i, errs[i])
		default:
			s.wantWhole(t, w, 0)
		}
	}
}

// testFence: what the fence refuses is not written, and that is no unknown outcome.
func testFence(t *testing.T, s *suite) {
	w, lost := clickWrite(t, link(), 1), errors.New("lost")
	errs := s.store.Apply(store.Fenced(t.Context(), func(context.Context) error { return lost }), []store.KeyWrite{w})
	if len(errs) != 1 || !errors.Is(errs[0], store.ErrFenced) || !errors.Is(errs[0], lost) || errors.Is(errs[0], store.ErrUnknownOutcome) {
		t.Errorf("behind a fence: %v", errs)
	}
	s.wantWhole(t, w, 0)
}

// testConcurrentApply: callers with different keys do not disturb each other, and each key's writes add up.
func testConcurrentApply(t *testing.T, s *suite) {
	const callers, keys, rounds = 8, 20, 5
	writes := make([][]store.KeyWrite, callers)
	for c := range callers {
		for range keys {
			writes[c] = append(writes[c], clickWrite(t, link(), 1))
		}
	}
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for range rounds {
				for i, err := range s.store.Apply(t.Context(), writes[c]) {
					if err != nil {
						t.Errorf("caller %d, write %d: %v", c, i, err)
					}
				}
			}
		})
	}
	wg.Wait()
	for c := range callers {
		for _, w := range writes[c] {
			s.wantWhole(t, w, rounds)
		}
	}
}

// testNothing: an empty call is no error.
func testNothing(t *testing.T, s *suite) {
	if errs := s.store.Apply(t.Context(), nil); len(errs) != 0 {
		t.Errorf("Apply of nothing returned %v", errs)
	}
	if rows, err := store.Ledgers(t.Context(), s.store, nil); err != nil || len(rows) != 0 {
		t.Errorf("Ledger of nothing is %v, %v", rows, err)
	}
	if seen, err := s.store.FirstSeen(t.Context(), nil); err != nil || len(seen) != 0 {
		t.Errorf("FirstSeen of nothing is %v, %v", seen, err)
	}
	if err := s.store.Remember(t.Context(), nil, nil); err != nil {
		t.Errorf("Remember of nothing: %v", err)
	}
}
