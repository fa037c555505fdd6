package storetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/models"
)

// testVisitorRows: an entry is found in the row of its visitor, site and month. Storing it again changes nothing, or replaces it.
func testVisitorRows(t *testing.T, v *visitors) {
	october, november := at(t, "2018-10-01 00:00"), at(t, "2018-11-01 00:00")
	one, two := name("site"), name("site")
	whose := models.Visitor{Site: one, Month: october, GUID: "g"}
	absent := []models.Visitor{{Site: one, Month: october, GUID: "h"}, {Site: one, Month: november, GUID: "g"}, {Site: two, Month: october, GUID: "g"}}
	v.check(t, append(absent, whose)...)

	first := models.First{At: models.Position{Topic: "visits", Partition: 3}, Day: at(t, "2018-10-05 00:00"), Features: []string{"a", ""}, Of: models.Ways{3, 3, 3}}
	v.expect(whose, first)
	v.rememberAll(t)
	v.check(t, absent...)
	for _, other := range absent { // the same event, and others that differ in one part of their position: another generation of the topic too
		v.expect(other, first)
	}
	for _, p := range []models.Position{{Topic: "visits-2", Partition: 3}, {Topic: "visits", Partition: 4}, {Topic: "visits", Partition: 3, Offset: 5_000_000_000_000}} {
		f := first
		f.At, f.Of = p, models.Ways{0, 1 << p.Partition, 0}
		v.expect(whose, f)
	}
	v.rememberAll(t)
	v.rememberAll(t)
	v.check(t)
	first.Of = models.Ways{1, 0, 2}
	v.expect(whose, first)
	v.remember(t, map[models.Visitor][]models.First{whose: {first}, absent[0]: nil})
	v.check(t)
	if _, err := v.read(t.Context(), nil); err != nil {
		t.Errorf("rows of nobody: %v", err)
	}
	if err := v.store.RememberFirsts(t.Context(), nil, nil); err != nil {
		t.Errorf("remembering nothing: %v", err)
	}
}

// testVisitorText: sites, guids and features of all sorts come back as they were.
func testVisitorText(t *testing.T, v *visitors) {
	month, site := at(t, "2018-10-01 00:00"), name("site")
	kilobyte := strings.Repeat("ü", 512)
	for i, text := range append(slices.Clone(texts), kilobyte) {
		first := models.First{At: models.Position{Topic: "visits", Offset: int64(i)}, Day: month, Of: models.Ways{1, 2, 8}}
		add := func(site, guid string, features ...string) {
			first.Features = features
			first.At.Offset++
			v.expect(models.Visitor{Site: site, Month: month, GUID: guid}, first)
		}
		add(site, "g", text, text)
		if text != kilobyte {
			add(site, text, text, text)
			add(name("s")+text, "g", text, text)
		}
	}
	first := models.First{At: models.Position{Topic: "visits", Partition: 7}, Day: month, Features: []string{"", ""}, Of: models.Ways{1, 1, 1}}
	v.expect(models.Visitor{Site: site, Month: month, GUID: "g"}, first)
	v.rememberAll(t)
	v.check(t)
}

// testSightingsInRows: FirstEvents finds in rows what the visits have seen, and only that.
func testSightingsInRows(t *testing.T, v *visitors) {
	sites := []string{name("site"), name("site")}
	// From Wednesday, 24 October to Friday, 16 November: one week begins in October and ends in November.
	begin := at(t, "2018-10-24 23:30")
	var strangers []models.Sighting
	for i := range 2000 {
		visit := &models.Visit{
			SiteID: sites[i%2], GUID: fmt.Sprint("guid-", i*7919%300), TS: begin + models.Millis(i)*1_000_000,
			Features: []string{[]string{"", "fb", "x'y"}[i*31%3], []string{"", "/", "/a", "fb"}[i*17%4]},
		}
		v.visit(visit)
		visit.GUID += "-stranger"
		strangers = append(strangers, visit.Sightings()...)
		if visit.GUID = fmt.Sprint("guid-", i*7919%300); i%10 == 0 {
			visit.Features = []string{"never", "/"}
			for _, s := range visit.Sightings() {
				if s.Features.Values()[0] != "" {
					strangers = append(strangers, s)
				}
			}
		}
	}
	v.rememberAll(t)
	v.check(t)
	slices.SortFunc(strangers, func(a, b models.Sighting) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	v.wantSeen(t, v.first, slices.Compact(strangers)...)
}

// testRowsUnder: what is under a combination is found by that alone, and by FirstEvents. A visitor may have many rows.
func testRowsUnder(t *testing.T, v *visitors) {
	site, ts := name("site"), at(t, "2018-10-10 12:00")
	bot := func(page int) *models.Visit {
		return &models.Visit{SiteID: site, GUID: "bot", TS: ts, Features: []string{"fb", fmt.Sprint("/", page)}}
	}
	for page := range 40 {
		v.visit(bot(page))
	}
	var absent []models.Visitor
	beyond := map[models.Sighting]models.Position{}
	for page := 100; page < 1100; page++ {
		visit := bot(page)
		at := models.Position{Topic: "visits", Partition: page % 6, Offset: int64(page)}
		v.expect(visit.Under(ts.Month(), 2), models.First{At: at, Day: ts.Day(), Features: visit.Features, Of: models.Ways{12, 12, 12}})
		absent = append(absent, visit.Under(ts.Month(), 3))
		if page%10 > 0 {
			continue
		}
		for _, s := range visit.Sightings() {
			if s.Features.Values()[1] != "" {
				beyond[s] = at
			}
		}
	}
	v.rememberAll(t)
	v.check(t, absent...)
	maps.Copy(beyond, v.first)
	other := bot(7)
	other.GUID = "nobody"
	v.wantSeen(t, beyond, append(other.Sightings(), guidOn(site, "bot", models.IntervalDay, ts.Day(), "", "/never"))...)
}

// testManyVisitors: as many visitors as a chunk has, of sites large and small, and many in one bucket.
func testManyVisitors(t *testing.T, v *visitors) {
	large, begin := name("site"), at(t, "2018-10-10 12:00")
	absent := map[models.Visitor]bool{}
	for i := range 6000 {
		visit := &models.Visit{SiteID: large, GUID: fmt.Sprint("g", i), TS: begin, Features: []string{"fb", "/"}}
		switch i % 3 {
		case 0:
			visit.SiteID = fmt.Sprint(large, i%500)
		case 1:
			for n := i; models.Bucket(visit.GUID) != "a7"; n++ {
				visit.GUID = fmt.Sprint("same-", i, "-", n)
			}
		}
		if i%10 == 9 {
			absent[models.Visitor{Site: visit.SiteID, Month: begin.Month(), GUID: visit.GUID}] = true
			continue
		}
		v.visit(visit)
		visit.Features = []string{"fb", "/2"}
		v.visit(visit)
	}
	v.rememberAll(t)
	v.check(t, slices.Collect(maps.Keys(absent))...)
}

// testLongRows: rows that are full come as a whole, also if features are long and many visitors are in one Cassandra partition.
func testLongRows(t *testing.T, v *visitors) {
	site, begin := name("site"), at(t, "2018-10-01 12:00")
	for guid := range 10 {
		for n := range models.FullRow {
			v.visit(&models.Visit{
				SiteID: site, GUID: fmt.Sprint("g", guid), TS: begin + models.Millis(n%7*86_400_000),
				Features: []string{fmt.Sprint(n, strings.Repeat("x", 1000)), fmt.Sprint(n, strings.Repeat("y", 1000))},
			})
		}
	}
	v.rememberAll(t)
	v.check(t)
	maps.DeleteFunc(v.first, func(_ models.Sighting, at models.Position) bool { return at.Offset%models.FullRow != 1 })
	v.wantSeen(t, v.first)
}

// testCancelledRows: without an error all entries are stored, and all are read; after an error the call can be repeated.
func testCancelledRows(t *testing.T, v *visitors) {
	for _, after := range []time.Duration{-1, 0, time.Millisecond, 5 * time.Millisecond} {
		site := name("site")
		for i := range 1000 {
			v.visit(&models.Visit{SiteID: site, GUID: fmt.Sprint("g", i), TS: at(t, "2018-10-10 12:00"), Features: []string{"fb", "/"}})
		}
		off := func(call func(context.Context) error) error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if after < 0 {
				cancel()
			} else {
				time.AfterFunc(after, cancel)
			}
			return call(ctx)
		}
		whose := slices.Collect(maps.Keys(v.want))
		firsts := make([][]models.First, len(whose))
		for i, visitor := range whose {
			firsts[i] = slices.Collect(maps.Values(v.want[visitor]))
		}
		if off(func(ctx context.Context) error { return v.store.RememberFirsts(ctx, whose, firsts) }) == nil {
			v.check(t)
		}
		v.rememberAll(t)
		v.check(t)
		var rows [][]models.First
		err := off(func(ctx context.Context) (err error) { rows, err = v.read(ctx, whose); return err })
		for i := 0; err == nil && i < len(whose); i++ {
			if len(rows[i]) != len(firsts[i]) {
				t.Fatalf("Visitors called off: %d entries of %+v without an error", len(rows[i]), whose[i])
			}
		}
	}
}
