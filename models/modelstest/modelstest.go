// Package modelstest has events and a naive counter for tests of other packages.
package modelstest

import (
	"fmt"
	"time"

	"footfall/models"
)

// April is the first moment of April 1973.
var April = models.Millis(time.Date(1973, time.April, 1, 0, 0, 0, 0, time.UTC).UnixMilli())

// VisitAt is a visit at noon of a day of 1973. Visitor and site are always the same; the id is made from the day.
func VisitAt(month time.Month, day int) *models.Visit {
	return &models.Visit{
		V: 1, ID: fmt.Sprint(month, day), SiteID: "site", GUID: "guid", Features: []string{"", ""},
		TS: models.Millis(time.Date(1973, month, day, 12, 0, 0, 0, time.UTC).UnixMilli()),
	}
}

// Cells are counters that were added up one by one.
type Cells map[models.Key]map[models.Cell]int64

// Add is what models.Event.Count calls.
func (c Cells) Add(key models.Key, cell models.Cell, n int64) {
	if c[key] == nil {
		c[key] = map[models.Cell]int64{}
	}
	c[key][cell] += n
}

// Seen are the sightings of the events that were counted so far.
type Seen map[models.Sighting]bool

// First tells for each sighting of the event whether it is new, and remembers it.
func (s Seen) First(e models.Event) (first []bool) {
	for _, sighting := range e.Sightings() {
		first = append(first, !s[sighting])
		s[sighting] = true
	}
	return first
}
