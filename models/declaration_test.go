package models

import (
	"slices"
	"testing"
)

// Every counter is in a table that has its columns, under a name of its own.
func TestCountersHaveTables(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Counters {
		if seen[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		seen[c.Name] = true
		table := TableOf(c.Keyspace, c.Table)
		if !slices.Contains(table.Values, Column{c.Column, KindCounter}) {
			t.Errorf("%s: %s has no counter %s", c.Name, c.Table, c.Column)
		}
		if (c.Interval != "") != (c.ColumnOf(KindTime) != "") {
			t.Errorf("%s: interval %q, but the column of times is %q", c.Name, c.Interval, c.ColumnOf(KindTime))
		}
		if (c.Word != "") != (c.ColumnOf(KindText) != "") || (c.Word != "") != (c.Path != "") {
			t.Errorf("%s: word %q, path %q, but the column of labels is %q", c.Name, c.Word, c.Path, c.ColumnOf(KindText))
		}
		if whole, ok := CounterOf(c.AddsUpTo); c.AddsUpTo != "" && (!ok || whole.Keyspace != c.Keyspace || whole.Visitors || c.Visitors) {
			t.Errorf("%s cannot add up to %q", c.Name, c.AddsUpTo)
		}
	}
}

// What an event adds is what the declaration says: the counters that there are, each with a time and a label if it has them, and sums that hold.
func TestCountAddsToTheDeclaredCounters(t *testing.T) {
	amount := int64(-3)
	ts := Earliest.Month() + 40*day + 7*hour + 1
	events := []Event{
		&Click{ShortURL: "abc", IP: "10.0.0.1", Country: "IT", TS: ts, Referrer: "example.org", Amount: &amount},
		&Click{ShortURL: "abc", IP: "10.0.0.2", TS: ts, Bot: true},
		&Visit{SiteID: "shop", GUID: "g", TS: ts, Features: []string{"a", "b"}},
	}
	added := map[string]bool{}
	for _, e := range events {
		first := make([]bool, len(e.Sightings()))
		for i := range first {
			first[i] = true
		}
		sums := map[Key]map[string]int64{}
		e.Count(first, func(key Key, cell Cell, n int64) {
			c, ok := CounterOf(cell.Counter)
			if !ok || c.Keyspace != key.Keyspace {
				t.Fatalf("no counter %s of %s", cell.Counter, key.Keyspace)
			}
			added[c.Name] = true
			if at := startOf(c.Interval, ts); cell.At != at {
				t.Errorf("%s of %v is at %v, want %v", c.Name, ts.Time(), cell.At.Time(), at.Time())
			}
			if cell.Label != "" && c.Word == "" {
				t.Errorf("%s has a label: %q", c.Name, cell.Label)
			}
			if c.Keyspace == Cardinality && !c.Combined && key.Features.fixed() > 1 {
				t.Errorf("%s of a combination: %q", c.Name, key.Features)
			}
			if sums[key] == nil {
				sums[key] = map[string]int64{}
			}
			sums[key][c.Name] += n
		})
		for key, of := range sums {
			for _, c := range Counters {
				if c.AddsUpTo != "" && of[c.Name] != of[c.AddsUpTo] {
					t.Errorf("%v: %s adds up to %d, %s is %d", key, c.Name, of[c.Name], c.AddsUpTo, of[c.AddsUpTo])
				}
			}
		}
	}
	for _, c := range Counters {
		if !added[c.Name] {
			t.Errorf("no event adds to %s", c.Name)
		}
	}
}

func startOf(interval string, t Millis) Millis {
	switch interval {
	case IntervalHour:
		return t.Hour()
	case IntervalDay:
		return t.Day()
	case IntervalWeek:
		return t.Week()
	case IntervalMonth:
		return t.Month()
	}
	return 0
}

// A name's row has a value for each column of its list, and its value is the last.
func TestNamesFillTheirLists(t *testing.T) {
	for _, list := range Lists {
		n := Name{List: list.Name, Start: day, Site: "shop", Feature: "page", Value: "/a"}
		row := n.Append(nil, func(t Millis) any { return t })
		columns := slices.Concat(list.Partition, list.Rows)
		if len(row) != len(columns) || row[len(row)-1] != "/a" || n.Table().Name != list.Name {
			t.Errorf("%s: %v for %v", list.Name, row, columns)
		}
		for i, column := range columns {
			if _, text := row[i].(string); i < len(row) && text != (column.Kind == KindText) {
				t.Errorf("%s: %v for %v", list.Name, row[i], column)
			}
		}
	}
}
