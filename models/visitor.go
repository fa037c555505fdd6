package models

import (
	"iter"
	"math/bits"
)

// Visitor is a guid on a site in a month: whom one row remembers. A week is in the row of the month of its last
// day, so that a row is over when its month is, and a visit may concern two rows.
type Visitor struct {
	Site  string
	Month Millis
	GUID  string
}

// First is an event that was its visitor's first in some ways: one entry of the visitor's row.
type First struct {
	At       Position
	Day      Millis   // of the event
	Features []string // of the event
	Of       Ways
}

// Ways are ways in which an event is a visitor's first: for the month, the week and the day, in this order, a set of combinations. Bit m
// stands for the combination that keeps the features whose bits are set in m, as in Combinations.
type Ways [3]uint64

// Row is what a visit asks of one of its visitor's rows: in which of these ways is it the first?
type Row struct {
	Month Millis
	Asked Ways
}

// AppendRows appends the rows that the visit concerns: one, two, or none if no uniques are kept.
func (v *Visit) AppendRows(rows []Row) []Row {
	begin, combinations := len(rows), Subsets(Present(v.Features))
	for _, u := range v.plan().uniques {
		month, i := u.row(v.TS), begin
		for i < len(rows) && rows[i].Month != month {
			i++
		}
		if i == len(rows) {
			rows = append(rows, Row{Month: month})
		}
		rows[i].Asked[u.place] = combinations
	}
	return rows
}

// AppendFirst appends an answer for each of the visit's Sightings, in their order, from the ways in which it is the first.
func (v *Visit) AppendFirst(first []bool, of Ways) []bool {
	combinations := Subsets(Present(v.Features))
	for _, u := range v.plan().uniques {
		for set := combinations; set != 0; set &= set - 1 {
			first = append(first, of[u.place]&(set&-set) != 0)
		}
	}
	return first
}

// Present is the set of the features that are not empty.
func Present(features []string) (set uint64) {
	for i, f := range features {
		if f != "" {
			set |= 1 << i
		}
	}
	return set
}

// Subsets is the set of the combinations that keep none but these features.
func Subsets(features uint64) uint64 { return subsets[features] }

var subsets = func() (table [1 << MaxFeatures]uint64) {
	for features := range table {
		for m := range features + 1 {
			if m&^features == 0 {
				table[features] |= 1 << m
			}
		}
	}
	return table
}()

// Sightings are the ways in which the event was its visitor's first, each as a sighting.
func (f First) Sightings(v Visitor) iter.Seq[Sighting] {
	return func(yield func(Sighting) bool) {
		for i, u := range uniques {
			for set := f.Of[i]; set != 0; set &= set - 1 {
				kept := make([]string, len(f.Features))
				for j := range kept {
					if bits.TrailingZeros64(set)&(1<<j) != 0 {
						kept[j] = f.Features[j]
					}
				}
				s := Sighting{Keyspace: Cardinality, Name: v.Site, Visitor: v.GUID, Interval: u.name, Start: u.start(f.Day), Features: NewFeatures(kept...)}
				if !yield(s) {
					return
				}
			}
		}
	}
}

// Row returns whose row has the sighting; way is the place of its interval in Ways. It is for sites only.
func (s Sighting) Row() (v Visitor, way int) {
	for _, u := range uniques {
		if u.name == s.Interval {
			return Visitor{Site: s.Name, Month: u.row(s.Start), GUID: s.Visitor}, u.place
		}
	}
	return Visitor{}, 0
}

// VisitorsSetting is the setting that says how the tables remember visitors of sites. VisitorsInRows: by Visitor, in all months, as new tables do.
// VisitorsBySighting: by Sighting, as tables of earlier versions do.
const (
	VisitorsSetting    = "visitors"
	VisitorsInRows     = "rows"
	VisitorsBySighting = "sightings"
)
