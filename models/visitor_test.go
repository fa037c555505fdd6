package models

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// What a visit asks of rows is what it asks by sightings, whatever the plan, the features and the day.
func TestRowsAreSightings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "c", "d", "e", "f"}
	for range 2000 {
		metrics := slices.DeleteFunc(AllMetrics(), func(string) bool { return r.IntN(3) == 0 })
		if len(metrics) == 0 {
			metrics = []string{DayUnique}
		}
		plan, err := NewPlan(names[:1+r.IntN(len(names))], metrics)
		if err != nil {
			t.Fatal(err)
		}
		v := &Visit{SiteID: "s", GUID: "g", Plan: plan, TS: Millis(time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC).UnixMilli() + r.Int64N(10*24*3600_000))}
		for range plan.Features() {
			v.Features = append(v.Features, []string{"", "x", "y"}[r.IntN(3)])
		}
		var got []Sighting
		var all Ways
		for _, row := range v.AppendRows(nil) {
			for s := range (First{Day: v.TS.Day(), Features: v.Features, Of: row.Asked}).Sightings(v.Under(row.Month, 0)) {
				got = append(got, s)
				if of, way := s.Row(); of != v.Under(row.Month, 0) || row.Asked[way] == 0 {
					t.Errorf("%+v is said to be in the row of %+v", s, of)
				}
			}
			for i := range all {
				if all[i]&row.Asked[i] != 0 {
					t.Errorf("%v is asked of two rows", row.Asked)
				}
				all[i] |= row.Asked[i]
			}
		}
		want := v.Sightings()
		order := func(a, b Sighting) int { return slices.Index(want, a) - slices.Index(want, b) }
		if slices.SortFunc(got, order); !slices.Equal(got, want) {
			t.Fatalf("rows ask about %v, want %v", got, want)
		}
		some := all
		for i := range some {
			some[i] &= r.Uint64()
		}
		var first []Sighting
		for _, row := range v.AppendRows(nil) {
			for s := range (First{Day: v.TS.Day(), Features: v.Features, Of: some}).Sightings(v.Under(row.Month, 0)) {
				first = append(first, s)
			}
		}
		for i, is := range v.AppendFirst(nil, some) {
			if is != slices.Contains(first, want[i]) {
				t.Errorf("%+v is first: %v", want[i], is)
			}
		}
	}
}

// An entry that was written by hand remembers no more than counting looks for: features that it has, in the month of its row.
func TestEntriesByHandClaimNoMore(t *testing.T) {
	v := &Visit{SiteID: "s", GUID: "g", TS: Millis(time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC).UnixMilli()), Features: []string{"fb", ""}}
	all := Ways{15, 15, 15}
	for _, month := range []Millis{v.TS.Month(), v.TS.Week().Month(), (v.TS.Week() + 6*day).Month(), (v.TS - 40*day).Month()} {
		for s := range (First{Day: v.TS.Day(), Features: v.Features, Of: all}).Sightings(v.Under(month, 0)) {
			if row, _ := s.Row(); row.Month != month || !slices.Contains(v.Sightings(), s) {
				t.Errorf("the row of %v remembers %+v", month.Time(), s)
			}
		}
	}
}

// A row is over when its month is: all its sightings have ended then, and none is left to a later month.
func TestARowEndsWithItsMonth(t *testing.T) {
	begin := Millis(time.Date(2026, 9, 20, 0, 0, 0, 0, time.UTC).UnixMilli())
	for i := range Millis(120) {
		v := &Visit{SiteID: "s", GUID: "g", TS: begin + i*day, Features: []string{"a", ""}}
		for _, s := range v.Sightings() {
			row, _ := s.Row()
			if last := IntervalEnd(s.Interval, s.Start) - 1; last.Month() != row.Month {
				t.Errorf("the %s of %v ends in another month than its row of %v", s.Interval, s.Start.Time(), row.Month.Time())
			}
		}
	}
}
