package cassandra

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"

	"footfall/consumer/store"
	"footfall/models"
)

// The parts of both keyspaces have every key once, with its whole ledger, in batches whose sums and cells can be read together.
func testWalk(t *testing.T, s *Store) {
	ctx := t.Context()
	written := map[models.Key]store.KeyWrite{}
	for i := range 1300 {
		key, cells := models.Key{Keyspace: models.URLShortener, Name: fmt.Sprint("walk-", i)}, map[models.Cell]int64{}
		for _, cell := range []models.Cell{
			{Counter: models.ClickCounter}, {Counter: models.UniqueCounter}, {Counter: models.HourCounters, At: models.Earliest.Hour()},
			{Counter: models.DayCounters, At: models.Earliest.Day()}, {Counter: models.CountryCounters, Label: "DE"},
			{Counter: models.ReferrerCounters, Label: ""}, {Counter: models.ReferrerCounters, Label: "example.org"},
			{Counter: models.SumValues, At: models.Earliest.Day()}, {Counter: models.NumValues, At: models.Earliest.Day()},
			{Counter: models.BrowserMonths, At: models.Earliest.Month(), Label: "Firefox"}, {Counter: models.BrowserMonths, At: models.Latest.Month()},
			{Counter: models.DeviceMonths, At: models.Earliest.Month(), Label: "Firefox"},
		} {
			cells[cell] = int64(i + 1)
		}
		if i%10 == 0 {
			key = models.Key{Keyspace: models.Cardinality, Name: fmt.Sprint("walk-", i), Month: models.Earliest.Month(), Features: models.NewFeatures("fb", "")}
			cells = map[models.Cell]int64{{Counter: models.MonthViews, At: models.Earliest.Month()}: int64(i + 1)}
		}
		w := store.KeyWrite{Key: key, Cells: cells}
		for epoch := range int64(1 + i%3) {
			w.Ledger = append(w.Ledger, store.LedgerRow{
				LedgerID: store.LedgerID{Partition: models.Partition{Topic: "walk", Number: i % 2}, Kind: store.KindOwner, Epoch: epoch + 1}, From: int64(i), To: int64(i) + 1,
			})
		}
		written[key] = w
	}
	for _, err := range s.Apply(ctx, slices.Collect(maps.Values(written))) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	seen := map[models.Key]int{}
	var wg sync.WaitGroup
	for _, keyspace := range []models.Keyspace{models.URLShortener, models.Cardinality} {
		for number := range 5 {
			wg.Go(func() {
				err := s.Keys(ctx, store.Part{Keyspace: keyspace, Number: number, Of: 5}, func(batch []store.KeyLedger) error {
					mu.Lock()
					defer mu.Unlock()
					for _, k := range batch {
						if w, ours := written[k.Key]; ours {
							seen[k.Key]++
							if !slices.Equal(k.Rows, w.Ledger) {
								t.Errorf("%v: %v, want %v", k.Key, k.Rows, w.Ledger)
							}
						}
					}
					return testTogether(t, s, batch, written)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for key := range written {
		if seen[key] != 1 {
			t.Errorf("%v was handed on %d times", key, seen[key])
		}
	}
}

// testTogether reads the sums and cells of a batch.
func testTogether(t *testing.T, s *Store, batch []store.KeyLedger, written map[models.Key]store.KeyWrite) error {
	if batch[0].Key.Keyspace != models.URLShortener {
		return nil
	}
	var keys []models.Key
	for _, k := range batch {
		if _, ours := written[k.Key]; ours {
			keys = append(keys, k.Key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	sums, err := s.Sums(t.Context(), keys)
	if err != nil {
		return err
	}
	cells, err := s.LinkCells(t.Context(), keys)
	if err != nil {
		return err
	}
	for _, key := range keys {
		w := written[key]
		n := w.Cells[models.Cell{Counter: models.ClickCounter}]
		want := map[string]int64{
			models.ClickCounter: n, models.HourCounters: n, models.DayCounters: n, models.CountryCounters: n, models.ReferrerCounters: 2 * n,
			models.BrowserMonths: 2 * n, models.DeviceMonths: n,
		}
		if !maps.Equal(sums[key].Counters, want) || !slices.Equal(sums[key].Ledger, w.Ledger) {
			t.Errorf("%s: sums %+v, want %v", key.Name, sums[key], want)
		}
		if !reflect.DeepEqual(cells[key], w.Cells) {
			t.Errorf("%s: cells %v, want %v", key.Name, cells[key], w.Cells)
		}
	}
	one, err := s.Cells(t.Context(), keys[0])
	if err != nil || !reflect.DeepEqual(one, written[keys[0]].Cells) {
		t.Errorf("%s: cells %v, %v", keys[0].Name, one, err)
	}
	return nil
}

// The progress of a walk is kept until the walk is over.
func testWalked(t *testing.T, s *Store) {
	f := func(want string) {
		t.Helper()
		if got, err := s.Walked(t.Context(), "test"); err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	f("")
	for _, progress := range []string{"half", "nearly all", ""} {
		if err := s.NoteWalked(t.Context(), "test", progress); err != nil {
			t.Fatal(err)
		}
		f(progress)
	}
}
