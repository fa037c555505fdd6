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
			{Counter: models.SumValues, At: models.Earliest.Day()},
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
		}
		if !maps.Equal(sums[key].Tables, want) || !slices.Equal(sums[key].Ledger, w.Ledger) {
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

// Every token is in exactly one part, whatever the number of parts.
func TestPartsOfTheRing(t *testing.T) {
	for _, of := range []int{1, 2, 3, 7, 256, 1000} {
		next := wholeRing.first
		for number := range of {
			b := partOfRing(store.Part{Number: number, Of: of})
			if b.first != next || b.last < b.first {
				t.Fatalf("part %d of %d: %v, want it to begin at %d", number, of, b, next)
			}
			next = b.last + 1 // overflows after the last
		}
		if next != wholeRing.first {
			t.Errorf("%d parts end at %d", of, next-1)
		}
	}
}

// If intervals are too many for one pass, several passes have each of them once, with all its buckets.
func TestIntervalsInPasses(t *testing.T) {
	const sites, most = 100, 7
	end := models.IntervalEnd("day", models.Earliest.Day())
	seen := map[string]int{}
	passes := 0
	for todo := []class{{0, 1}}; len(todo) > 0; passes++ {
		l := newIntervals(todo[0], end, most)
		todo = todo[1:]
		for _, bucket := range []string{"00", "a7", "ff", "by hand"} {
			for site := range sites {
				l.add(visitorPartition{name: fmt.Sprint(site), interval: "day", start: models.Earliest.Day(), bucket: bucket})
			}
		}
		l.add(visitorPartition{name: "later", interval: "day", start: end, bucket: "00"})
		if len(l.found) > most {
			t.Errorf("%d intervals at once", len(l.found))
		}
		for p, buckets := range l.found {
			seen[p.name]++
			if got := buckets.list(); !slices.Equal(got, []string{"by hand", "00", "a7", "ff"}) {
				t.Errorf("site %s has buckets %q", p.name, got)
			}
		}
		todo = append(todo, l.left...)
	}
	for site := range sites {
		if seen[fmt.Sprint(site)] != 1 {
			t.Errorf("site %d was listed %d times", site, seen[fmt.Sprint(site)])
		}
	}
	if len(seen) != sites || passes < sites/most {
		t.Errorf("%d sites in %d passes", len(seen), passes)
	}
}
