package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

// Lists reads around the store, by plain SQL or CQL.
type Lists interface {
	// Names reads the values that are listed under the list, period, site and feature of a name, in its bucket.
	Names(ctx context.Context, of models.Name) ([]string, error)
	// Progress reads what was noted of a partition; a zero EventTime stands for null.
	Progress(ctx context.Context, p models.Partition) (row store.Progress, found bool, err error)
}

// RunLists checks a store's lists of names and its notes of progress.
func RunLists(t *testing.T, db store.Store, read Lists) {
	t.Helper()
	t.Run("Names", func(t *testing.T) { testNames(t, db, read) })
	t.Run("ManyNames", func(t *testing.T) { testManyNames(t, db, read) })
	t.Run("CancelledNames", func(t *testing.T) { testCancelledNames(t, db, read) })
	t.Run("NotedProgress", func(t *testing.T) { testNotedProgress(t, db, read) })
}

// wantNames lists names and checks that each stands where its bucket says, and that absent do not.
func wantNames(t *testing.T, read Lists, names []models.Name, absent ...models.Name) {
	t.Helper()
	wrong := 0
	partitions := map[models.Name][]string{} // by any name of the partition
	has := func(n models.Name) bool {
		of := n
		of.Value = n.Bucket()
		if _, known := partitions[of]; !known {
			values, err := read.Names(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(values)
			if len(slices.Compact(slices.Clone(values))) != len(values) {
				t.Errorf("%+v: a value is listed twice", of)
			}
			partitions[of] = values
		}
		_, found := slices.BinarySearch(partitions[of], n.Value)
		return found
	}
	for _, n := range names {
		if wrong < 10 && !has(n) {
			wrong++
			t.Errorf("%+v is not listed", n)
		}
	}
	for _, n := range absent {
		if has(n) {
			t.Errorf("%+v is listed", n)
		}
	}
}

func listNames(t *testing.T, db store.Store, names []models.Name) {
	t.Helper()
	given := slices.Clone(names)
	if err := db.ListNames(t.Context(), given); err != nil {
		t.Fatalf("ListNames: %v", err)
	}
	clear(given) // they are the caller's again
}

// testNames: names of all sorts are listed where they belong, and nowhere else; doing it again changes nothing.
func testNames(t *testing.T, db store.Store, read Lists) {
	day, next, month := at(t, "2018-10-01 00:00"), at(t, "2018-10-02 00:00"), at(t, "2018-10-01 00:00")
	site, other, prefix := name("site"), name("site"), name("l")
	var names, absent []models.Name
	for _, text := range texts {
		link := short(prefix + text)
		names = append(names, models.Name{List: models.LinksByDay, Start: day, Value: link},
			models.Name{List: models.SitesByMonth, Start: month, Value: short(prefix + text)},
			models.Name{List: models.ValuesByMonth, Start: month, Site: site, Feature: "feature1", Value: text},
			models.Name{List: models.ValuesByMonth, Start: month, Site: short(prefix + text), Feature: "feature2", Value: "same"})
		absent = append(absent, models.Name{List: models.LinksByDay, Start: next, Value: link},
			models.Name{List: models.SitesByMonth, Start: at(t, "2018-11-01 00:00"), Value: short(prefix + text)},
			models.Name{List: models.ValuesByMonth, Start: month, Site: site, Feature: "feature2", Value: text},
			models.Name{List: models.ValuesByMonth, Start: month, Site: other, Feature: "feature1", Value: text})
	}
	for range 2 {
		listNames(t, db, names)
		wantNames(t, read, names, absent...)
	}
	listNames(t, db, nil)
	if err := db.ListNames(t.Context(), []models.Name{{List: "no such list", Value: "x"}}); err == nil {
		t.Error("a list that is none takes names")
	}
}

// testManyNames: as many as a full chunk brings, at once: long values of one feature, and one value of many sites.
func testManyNames(t *testing.T, db store.Store, read Lists) {
	month, site := at(t, "2018-10-01 00:00"), name("site")
	var names []models.Name
	for i := range 5000 {
		n := models.Name{List: models.ValuesByMonth, Start: month, Site: site, Feature: "feature1", Value: strings.Repeat("x", models.MaxFeature-5) + fmt.Sprint("/", i)}
		switch i % 5 {
		case 0:
		case 1:
			n = models.Name{List: models.ValuesByMonth, Start: month, Site: fmt.Sprint(site, i/25), Feature: "feature1", Value: "/"}
		default:
			n = models.Name{List: models.LinksByDay, Start: month, Value: fmt.Sprint(site, i)}
		}
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b models.Name) int { return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Value, b.Value)) })
	names = slices.Compact(names)
	listNames(t, db, names)
	wantNames(t, read, names)
}

// testCancelledNames: without an error all are listed; after an error it can be done again.
func testCancelledNames(t *testing.T, db store.Store, read Lists) {
	for _, after := range []time.Duration{-1, 0, time.Millisecond, 5 * time.Millisecond} {
		var names []models.Name
		prefix := name("link")
		for i := range 3000 {
			names = append(names, models.Name{List: models.LinksByDay, Start: at(t, "2018-10-01 00:00"), Value: fmt.Sprint(prefix, "-", i)})
		}
		ctx, cancel := context.WithCancel(t.Context())
		if after < 0 {
			cancel()
		} else {
			time.AfterFunc(after, cancel)
		}
		err := db.ListNames(ctx, names)
		cancel()
		if err == nil {
			wantNames(t, read, names)
		}
		listNames(t, db, names)
		wantNames(t, read, names)
	}
}

// testNotedProgress: the last note is kept, for each partition apart; a time that is not known leaves the one that was.
func testNotedProgress(t *testing.T, db store.Store, read Lists) {
	p, sibling := partition(), partition()
	sibling.Topic = p.Topic
	sibling.Number = p.Number + 1
	f := func(p models.Partition, want store.Progress) {
		t.Helper()
		got, found, err := read.Progress(t.Context(), p)
		if err != nil || found != !want.At.IsZero() || got.Counted != want.Counted || got.LogEnd != want.LogEnd ||
			!got.EventTime.Equal(want.EventTime) || !got.At.Equal(want.At) {
			t.Errorf("progress of %v is %+v (found %t), %v; want %+v", p, got, found, err, want)
		}
	}
	note := func(rows ...store.Progress) {
		t.Helper()
		if err := db.NoteProgress(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	now := time.UnixMilli(1_540_000_000_123)
	f(p, store.Progress{})
	note()
	note(store.Progress{Partition: p, LogEnd: 7, At: now})
	f(p, store.Progress{Partition: p, LogEnd: 7, At: now})
	f(sibling, store.Progress{})
	first := store.Progress{Partition: p, Counted: 5_000_000_000_000, LogEnd: 5_000_000_000_001, EventTime: now.Add(-time.Hour), At: now.Add(time.Second)}
	second := store.Progress{Partition: sibling, Counted: 3, LogEnd: 3, EventTime: now, At: now}
	note(first, second)
	f(p, first)
	f(sibling, second)
	note(store.Progress{Partition: p, Counted: 1, LogEnd: 2, At: now}) // another owner, that has counted nothing yet
	f(p, store.Progress{Partition: p, Counted: 1, LogEnd: 2, EventTime: first.EventTime, At: now})
}
