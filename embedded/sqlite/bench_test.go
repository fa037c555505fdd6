package sqlite_test

import (
	"fmt"
	"testing"

	"footfall/consumer/store"
	"footfall/embedded/sqlite"
	"footfall/models"
)

// A full chunk of 10,000 events: 5,000 links with 6 cells and a ledger row each.
func BenchmarkApply(b *testing.B) {
	store, _ := open(b, b.TempDir())
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		writes := chunk(5000, n*2500)
		b.StartTimer()
		for _, err := range store.Apply(b.Context(), writes) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// 1,000 visits with both features. Half of the visitors are new each time.
func BenchmarkVisitors(b *testing.B) {
	store, _ := open(b, b.TempDir())
	for n := 0; b.Loop(); n++ {
		var visitors, fresh []models.Visitor
		for i := range 1000 {
			visitors = append(visitors, models.Visitor{Site: "site1", Month: models.Earliest.Month(), GUID: fmt.Sprintf("guid-%d", i+n*500)})
		}
		known := map[int]bool{}
		if err := store.Visitors(b.Context(), visitors, func(i int, _ models.First) { known[i] = true }); err != nil {
			b.Fatal(err)
		}
		var firsts [][]models.First
		for i, v := range visitors {
			if !known[i] {
				at := models.Position{Topic: "visits", Partition: 1, Offset: int64(i)}
				fresh = append(fresh, v)
				firsts = append(firsts, []models.First{{At: at, Day: models.Earliest.Day(), Features: []string{"a", "b"}, Of: models.Ways{15, 15, 15}}})
			}
		}
		if err := store.RememberFirsts(b.Context(), fresh, firsts); err != nil {
			b.Fatal(err)
		}
	}
}

// Reading the whole ledger at the start of the process: a million rows.
func BenchmarkEnds(b *testing.B) {
	store, _ := open(b, b.TempDir())
	fill(b, store, 1_000_000)
	for b.Loop() {
		if ends, err := store.Ends(b.Context()); err != nil || len(ends) != 6 {
			b.Fatal(ends, err)
		}
	}
}

func fill(b *testing.B, store *sqlite.Store, keys int) {
	for from := 0; from < keys; from += 10_000 {
		writes := chunk(10_000, from)
		for i := range writes {
			writes[i].Cells = nil
		}
		for _, err := range store.Apply(b.Context(), writes) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func chunk(keys, from int) []store.KeyWrite {
	writes := make([]store.KeyWrite, keys)
	for i := range writes {
		writes[i] = store.KeyWrite{
			Key: models.Key{Keyspace: models.URLShortener, Name: fmt.Sprintf("link-%08d", from+i)},
			Cells: map[models.Cell]int64{
				{Counter: models.ClickCounter}: 2, {Counter: models.UniqueCounter}: 1,
				{Counter: models.HourCounters, At: models.Earliest.Hour()}: 2, {Counter: models.DayCounters, At: models.Earliest.Day()}: 2,
				{Counter: models.CountryCounters, Label: "IT"}: 2, {Counter: models.ReferrerCounters, Label: "example.com"}: 2,
			},
			Ledger: []store.LedgerRow{{
				LedgerID: store.LedgerID{Partition: models.Partition{Topic: "clicks", Number: i % 6}, Kind: store.KindOwner, Epoch: 1},
				From:     int64(from), To: int64(from + 2),
			}},
		}
	}
	return writes
}
