package cassandra

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

// A retirement goes from announced to decided to done, and never back. Forget changes the notice that consumers read.
func testNotices(t *testing.T, s *Store) {
	ctx := t.Context()
	before := models.Millis(time.Date(2018, 11, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	want := func(text string, want ...store.Retirement) store.Notices {
		t.Helper()
		n, err := s.Notices(ctx)
		if err != nil {
			t.Fatal(err)
		}
		same := len(n.Retirements) == len(want)
		for i := 0; same && i < len(want); i++ {
			got := n.Retirements[i]
			same = got.Before == want[i].Before && got.Topic == want[i].Topic && maps.Equal(got.From, want[i].From) &&
				(got.From == nil) == (want[i].From == nil) && got.Done == want[i].Done && got.ID == want[i].ID
		}
		if !same {
			t.Errorf("%s: %+v, want %+v", text, n.Retirements, want)
		}
		return n
	}
	ok := func(text string, want bool, got bool, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want("nothing was said")
	if s.Finish(ctx, before) == nil {
		t.Error("finished a retirement that was never announced")
	}
	for _, r := range []store.Retirement{{Before: before, Topic: "visits", ID: 1}, {Before: before, Topic: "visits", ID: 2}} {
		got, err := s.Decide(ctx, r, map[int]int64{0: 1})
		ok("decided what was never announced", false, got, err)
		must(s.Announce(ctx, r))
		want("announced", r)
		got, err = s.Withdraw(ctx, before)
		ok("withdrawn", true, got, err)
		want("withdrawn")
	}
	visits, other := store.Retirement{Before: before, Topic: "visits", ID: -1 << 62}, store.Retirement{Before: before, Topic: "other", ID: -1 << 62}
	must(s.Announce(ctx, visits))
	must(s.Announce(ctx, other))
	if s.Finish(ctx, before) == nil {
		t.Error("finished a retirement that was not decided")
	}
	for _, wrong := range []store.Retirement{other, {Before: before, Topic: "visits"}, {Before: before, Topic: "visits", ID: 1}} {
		got, err := s.Decide(ctx, wrong, map[int]int64{0: 6, 1: 0})
		ok("decided for another announcement", false, got, err)
	}
	got, err := s.Decide(ctx, visits, map[int]int64{0: 7, 1: 0})
	ok("decided", true, got, err)
	decided := store.Retirement{Before: before, Topic: "visits", From: map[int]int64{0: 7, 1: 0}}
	got, err = s.Decide(ctx, visits, map[int]int64{0: 8, 1: 1})
	ok("decided twice", false, got, err)
	got, err = s.Withdraw(ctx, before)
	ok("withdrawn too late", false, got, err)
	must(s.Announce(ctx, visits))
	first := want("decided", decided)
	must(s.Finish(ctx, before))
	must(s.Finish(ctx, before))
	decided.Done = true
	want("done", decided)

	if _, err := s.Forget(ctx, []string{"nobody"}, []string{"203.0.113.250"}, func(Forgotten) {}); err != nil {
		t.Fatal(err)
	}
	if second := want("forgotten", decided); second.Forgotten == first.Forgotten || second.Forgotten == "" {
		t.Errorf("forgotten was %q and is %q", first.Forgotten, second.Forgotten)
	}
}

// CountMismatches compares the rows of past months with the counts of their features: first rows, and those under combinations. Its visitors are of
// February 2015.
func testCountMismatches(t *testing.T, s *Store) {
	const site = "mismatches"
	ctx := t.Context()
	before := models.Millis(time.Date(2015, 3, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	var visitors []models.Visitor
	var firsts [][]models.First
	cells := map[models.Key]map[models.Cell]int64{}
	for i := range 40 { // in many buckets, from Monday the 16th on
		v := &models.Visit{SiteID: site, GUID: fmt.Sprint("guid-", i), TS: before - models.Millis(13-i%14)*86_400_000, Features: []string{"fb", "/"}}
		at := models.Position{Topic: "visits", Offset: int64(i)}
		for _, row := range v.AppendRows(nil) {
			rest := row.Asked
			if i%3 > 0 {
				of := rest
				for way := range of {
					of[way] &= 12 // what is new with the page
					rest[way] &^= 12
				}
				visitors = append(visitors, v.Under(row.Month, 2))
				firsts = append(firsts, []models.First{{At: at, Day: v.TS.Day(), Features: v.Features, Of: of}})
			}
			visitors = append(visitors, v.Under(row.Month, 0))
			firsts = append(firsts, []models.First{{At: at, Day: v.TS.Day(), Features: v.Features, Of: rest}})
		}
		for _, it := range v.Sightings() {
			key, cell := it.Counted()
			if cells[key] == nil {
				cells[key] = map[models.Cell]int64{}
			}
			cells[key][cell]++
		}
	}
	if err := s.RememberFirsts(ctx, visitors, firsts); err != nil {
		t.Fatal(err)
	}
	apply := func(cells map[models.Key]map[models.Cell]int64) {
		t.Helper()
		var writes []store.KeyWrite
		for key, add := range cells {
			writes = append(writes, store.KeyWrite{Key: key, Cells: add})
		}
		for _, err := range s.Apply(ctx, writes) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	apply(cells)
	f := func(want ...store.CountMismatch) {
		t.Helper()
		for _, inMemory := range []int{defaultInMemory, 3} {
			s.inMemory = inMemory
			var got []store.CountMismatch
			err := s.CountMismatches(ctx, before, func(string) {}, func(u store.CountMismatch) {
				if u.Key.Name == site { // the other tests' sites have rows without counts
					got = append(got, u)
				}
			})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
		}
	}
	f()
	month := models.Key{Keyspace: models.Cardinality, Name: site, Month: (before - 1).Month(), Features: models.NewFeatures("fb", "")}
	cell := models.Cell{Counter: models.MonthUnique, At: month.Month}
	apply(map[models.Key]map[models.Cell]int64{month: {cell: 2}})
	counted := cells[month][cell]
	f(store.CountMismatch{Key: month, Cell: cell, Rows: counted, Counted: counted + 2})
	apply(map[models.Key]map[models.Cell]int64{month: {cell: -3}})
	f(store.CountMismatch{Key: month, Cell: cell, Rows: counted, Counted: counted - 1})
}
