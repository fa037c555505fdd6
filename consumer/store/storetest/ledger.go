package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"footfall/consumer/store"
	"footfall/models"
)

func row(topic string, partition int, kind string, epoch, from, to int64) store.LedgerRow {
	return store.LedgerRow{
		LedgerID: store.LedgerID{Partition: models.Partition{Topic: topic, Number: partition}, Kind: kind, Epoch: epoch},
		From:     from, To: to,
	}
}

func sorted(rows []store.LedgerRow) []store.LedgerRow {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b store.LedgerRow) int {
		return cmp.Or(
			cmp.Compare(a.Partition.Topic, b.Partition.Topic), cmp.Compare(a.Partition.Number, b.Partition.Number),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Epoch, b.Epoch),
		)
	})
	return rows
}

// wantLedger checks that the ledger of the keys is exactly this; a key that wants no rows must be absent.
func (s *suite) wantLedger(t *testing.T, want map[models.Key][]store.LedgerRow) {
	t.Helper()
	keys := make([]models.Key, 0, len(want))
	for key := range want {
		keys = append(keys, key)
	}
	got, err := store.Ledgers(t.Context(), s.store, keys)
	if err != nil {
		t.Fatalf("Ledger: %v", err)
	}
	for key, rows := range want {
		have, found := got[key]
		if len(rows) == 0 && found {
			t.Errorf("ledger of %v has %v, want it absent", key, have)
		} else if !slices.Equal(sorted(have), sorted(rows)) {
			t.Errorf("ledger of %v is\n%v, want\n%v", key, sorted(have), sorted(rows))
		}
		delete(got, key)
	}
	for key := range got {
		t.Errorf("ledger has key %v, which nobody asked for", key)
	}
}

// testLedger increments rows of several topics, partitions, kinds and epochs of one key, in both keyspaces.
func testLedger(t *testing.T, s *suite) {
	const far = 5_000_000_000_000 // beyond 32 bits
	for _, key := range []models.Key{link(), site(at(t, "2018-10-01 00:00"), "f1", "f2")} {
		cell := models.Cell{Counter: models.ClickCounter}
		if key.Keyspace == models.Cardinality {
			cell = models.Cell{Counter: models.MonthViews, At: key.Month}
		}
		write := func(rows ...store.LedgerRow) {
			t.Helper()
			s.apply(t, store.KeyWrite{Key: key, Cells: map[models.Cell]int64{cell: 1}, Ledger: rows})
		}
		s.wantLedger(t, map[models.Key][]store.LedgerRow{key: nil})

		write(
			row("clicks", 0, store.KindOwner, 1, 0, 10),
			row("clicks", 0, store.KindOwner, 2, 10, 17),
			row("clicks", 3, store.KindOwner, 1, far, far+100),
			row("clicks", 0, store.KindMinus, 1, 3, 5),
			row("clicks", 0, store.KindPlus, 1, 4, 5),
			row("visits", 0, store.KindOwner, 1, 7, 8),
		)
		write(
			row("clicks", 0, store.KindOwner, 2, 0, 3), // extends the owner's row: 10 to 20
			row("clicks", 3, store.KindOwner, 1, 0, 900),
			row("clicks", 11, store.KindOwner, far, 0, 1), // new, from the very first offset
		)
		write(row("clicks", 0, store.KindOwner, 2, -10, -20)) // the rollup never does this, but a counter must take it

		s.wantLedger(t, map[models.Key][]store.LedgerRow{key: {
			row("clicks", 0, store.KindOwner, 1, 0, 10),
			row("clicks", 0, store.KindOwner, 2, 0, 0),
			row("clicks", 3, store.KindOwner, 1, far, far+1000),
			row("clicks", 11, store.KindOwner, far, 0, 1),
			row("clicks", 0, store.KindMinus, 1, 3, 5),
			row("clicks", 0, store.KindPlus, 1, 4, 5),
			row("visits", 0, store.KindOwner, 1, 7, 8),
		}})
		s.wantCell(t, key, cell, 3)
	}
}

// testLedgerAlone writes ledger rows without any cell: offsets that count nothing for the key.
func testLedgerAlone(t *testing.T, s *suite) {
	a, b := link(), site(at(t, "2018-10-01 00:00"), "", "")
	s.apply(t,
		store.KeyWrite{Key: a, Ledger: []store.LedgerRow{row("clicks", 1, store.KindOwner, 1, 5, 9)}},
		store.KeyWrite{Key: b, Ledger: []store.LedgerRow{row("visits", 1, store.KindPlus, 7, 5, 9)}},
	)
	s.wantLedger(t, map[models.Key][]store.LedgerRow{
		a: {row("clicks", 1, store.KindOwner, 1, 5, 9)},
		b: {row("visits", 1, store.KindPlus, 7, 5, 9)},
	})
	s.wantNoCell(t, a, models.Cell{Counter: models.ClickCounter})
}

// testLedgerKeysKeptApart has keys that differ in one part only, and unusual text.
func testLedgerKeysKeptApart(t *testing.T, s *suite) {
	october, november := at(t, "2018-10-01 00:00"), at(t, "2018-11-01 00:00")
	base := site(october, "a", "b")
	keys := []models.Key{base}
	for _, change := range []func(*models.Key){
		func(k *models.Key) { k.Month = november },
		func(k *models.Key) { k.Features = models.NewFeatures("b", "a") },
		func(k *models.Key) { k.Features = models.NewFeatures("", "b") },
		func(k *models.Key) { k.Features = models.NewFeatures("a", "") },
		func(k *models.Key) { k.Features = models.NewFeatures("", "") },
		func(k *models.Key) { k.Name += "x" },
		func(k *models.Key) { *k = models.Key{Keyspace: models.URLShortener, Name: k.Name} },
	} {
		key := base
		change(&key)
		keys = append(keys, key)
	}
	for _, text := range texts {
		keys = append(keys, models.Key{Keyspace: models.URLShortener, Name: short(name("l") + text)})
		key := base
		key.Features = models.NewFeatures("x", text)
		keys = append(keys, key)
	}
	want := map[models.Key][]store.LedgerRow{}
	var writes []store.KeyWrite
	for i, key := range keys {
		rows := []store.LedgerRow{row("t", i%7, store.KindOwner, 1, int64(i), int64(2*i+1))}
		want[key] = rows
		writes = append(writes, store.KeyWrite{Key: key, Ledger: rows})
	}
	want[site(october, "never", "written")] = nil
	want[link()] = nil
	s.apply(t, writes...)
	s.wantLedger(t, want)
}

// testManyCellsOfOneKey: one key's write may have many cells.
func testManyCellsOfOneKey(t *testing.T, s *suite) {
	key := link()
	cells := map[models.Cell]int64{}
	for i := range 500 {
		cells[models.Cell{Counter: models.ReferrerCounters, Label: fmt.Sprintf("https://example.com/%d", i)}] = int64(i + 1)
		cells[models.Cell{Counter: models.HourCounters, At: at(t, "2018-10-01 00:00") + models.Millis(i)*3_600_000}] = 1
	}
	s.apply(t, store.KeyWrite{Key: key, Cells: cells, Ledger: []store.LedgerRow{row("clicks", 0, store.KindOwner, 1, 0, 500)}})
	for cell, want := range cells {
		s.wantCell(t, key, cell, want)
	}
}
