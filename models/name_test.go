package models

import (
	"fmt"
	"slices"
	"testing"
)

// named lists the names of all that an event is worth, in order.
func named(plan *Plan, e Event, first func(Sighting) bool) (lines []string) {
	var answers []bool
	for _, s := range e.Sightings() {
		answers = append(answers, first == nil || first(s))
	}
	cells := map[Key]map[Cell]int64{}
	e.Count(answers, func(k Key, c Cell, n int64) {
		if cells[k] == nil {
			cells[k] = map[Cell]int64{}
		}
		cells[k][c] += n
	})
	for key := range cells {
		plan.Names(key, cells[key], func(n Name) {
			lines = append(lines, fmt.Sprint(n.List, " ", n.Start.Time().Format("2006-01-02"), " ", n.Bucket(), " ", n.Site, " ", n.Feature, "=", n.Value))
		})
	}
	slices.Sort(lines)
	return lines
}

func TestNames(t *testing.T) {
	plan, err := NewPlan([]string{"referrer", "page", "device"}, AllMetrics())
	if err != nil {
		t.Fatal(err)
	}
	f := func(e Event, first func(Sighting) bool, want string) {
		t.Helper()
		expect(t, named(plan, e, first), want)
	}
	f(&Click{ShortURL: "abc", TS: at(t, "2018-10-03T14:59:00.000")}, never, `links_by_day 2018-10-03 9  =abc`)
	if got := named(plan, &Click{ShortURL: "abc", TS: at(t, "2018-10-03T14:59:00.000"), Bot: true}, nil); len(got) > 0 {
		t.Errorf("a bot's click lists %q", got)
	}

	visit := &Visit{SiteID: "shop", GUID: "g", TS: at(t, "2018-10-03T14:59:00.000"), Features: []string{"news.example", "", "phone"}, Plan: plan}
	all := `
		sites_by_month 2018-10-01   =shop
		values_by_month 2018-10-01 e shop referrer=news.example
		values_by_month 2018-10-01 f shop device=phone`
	f(visit, nil, all)
	f(visit, never, all)
	// The Monday of its week is in the month before: so are the counters of the week.
	visit = &Visit{SiteID: "shop", GUID: "g", TS: at(t, "2018-11-01T00:00:00.000"), Features: []string{"", "/a b", ""}, Plan: plan}
	f(visit, func(s Sighting) bool { return s.Interval == IntervalWeek }, `
		sites_by_month 2018-10-01   =shop
		sites_by_month 2018-11-01   =shop
		values_by_month 2018-10-01 9 shop page=/a b
		values_by_month 2018-11-01 9 shop page=/a b`)
}

// A key whose cells were all counted before adds nothing, and so needs no name.
func TestNoCellsNoNames(t *testing.T) {
	DefaultPlan().Names(Key{Keyspace: Cardinality, Name: "shop"}, nil, func(n Name) { t.Errorf("%+v", n) })
	DefaultPlan().Names(Key{Keyspace: URLShortener, Name: "abc"}, nil, func(n Name) { t.Errorf("%+v", n) })
}

func TestNameBuckets(t *testing.T) {
	seen := map[string]bool{}
	for i := range 1000 {
		seen[NameBucket(fmt.Sprint(i))] = true
	}
	for _, bucket := range NameBuckets() {
		delete(seen, bucket)
	}
	if len(NameBuckets()) != 16 || len(seen) > 0 {
		t.Errorf("%d buckets, and %v that are not among them", len(NameBuckets()), seen)
	}
}
