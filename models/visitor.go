package models

import (
	"fmt"
	"iter"
	"math/bits"
)

// Visitor names a row of entries that remember a guid on a site in a month. A week is in the month of its last day, so that all rows are over
// when their month is, and a visit may concern two months.
//
// An entry is in the visitor's first row, whose Under is empty, until that has FullRow entries. From then on it is under the smallest
// combinations of features that were new: what was new under all of them is in a row that each visit asks for.
type Visitor struct {
	Site  string
	Month Millis
	GUID  string
	Under Features
}

// FullRow is how many entries a visitor's first row has before others are used. So no lookup reads more than this and what is new by the calendar:
// crawlers come with a hundred thousand pages. It is recorded with the tables: whoever takes a full row for all there is counts visitors again.
const FullRow = 32

// First is an event that was its visitor's first in some ways: one entry of the visitor's row.
type First struct {
	At       Position
	Day      Millis   // of the event
	Features []string // of the event
	Of       Ways
}

// Under is the row of a combination of the visit's features; the first row for none of them.
func (v *Visit) Under(month Millis, combination uint64) Visitor {
	row := Visitor{Site: v.SiteID, Month: month, GUID: v.GUID}
	if combination != 0 {
		row.Under = NewFeatures(keep(v.Features, combination)...)
	}
	return row
}

// keep returns the features of a combination, and nothing in place of the others.
func keep(features []string, combination uint64) []string {
	kept := make([]string, len(features))
	for i := range kept {
		if combination&(1<<i) != 0 {
			kept[i] = features[i]
		}
	}
	return kept
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

// Sightings are the ways in which the event was its visitor's first, each as a sighting. An entry that somebody wrote by hand may claim more than
// counting looks for: features that it does not have, and what is in the row of another month.
func (f First) Sightings(v Visitor) iter.Seq[Sighting] {
	return func(yield func(Sighting) bool) {
		for i, u := range uniques {
			if u.row(u.start(f.Day)) != v.Month {
				continue
			}
			for set := f.Of[i] & Subsets(Present(f.Features)); set != 0; set &= set - 1 {
				kept := keep(f.Features, uint64(bits.TrailingZeros64(set)))
				s := Sighting{Keyspace: Cardinality, Name: v.Site, Visitor: v.GUID, Interval: u.name, Start: u.start(f.Day), Features: NewFeatures(kept...)}
				if !yield(s) {
					return
				}
			}
		}
	}
}

// Rows lists the rows that may have the sighting: the visitor's first one, and those of all combinations of its features. It is for sites only.
func (s Sighting) Rows() []Visitor {
	first, _ := s.Row()
	rows := []Visitor{first}
	for _, under := range Combinations(s.Features.Values())[1:] {
		row := first
		row.Under = under
		rows = append(rows, row)
	}
	return rows
}

// Row returns the first row of the sighting's visitor; way is the place of its interval in Ways. It is for sites only.
func (s Sighting) Row() (v Visitor, way int) {
	for _, u := range uniques {
		if u.name == s.Interval {
			return Visitor{Site: s.Name, Month: u.row(s.Start), GUID: s.Visitor}, u.place
		}
	}
	return Visitor{}, 0
}

// VisitorsSetting is the setting that says how the tables remember visitors of sites, and VisitorsInRows what this version records there.
const VisitorsSetting = "visitors"

// VisitorsInRows has what a consumer must know to find all that is remembered of a visitor.
var VisitorsInRows = fmt.Sprintf("by month, %d entries together", FullRow)
