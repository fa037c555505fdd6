// Package modelstest has events and a naive counter for tests of other packages.
package modelstest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

// Message is the message that has the example of each of the fields, but of those that are named.
func Message(fields []models.Field, but ...string) []byte {
	var parts []string
	for _, f := range fields {
		if !slices.Contains(but, f.Name) {
			parts = append(parts, fmt.Sprintf("%q:%s", f.Name, f.Example))
		}
	}
	return []byte("{" + strings.Join(parts, ",") + "}")
}

// Written compares what stands in a file between the text begin and the first line from there on that begins with end with what is made from a
// declaration, or writes it.
func Written(t testing.TB, update bool, file, begin, end, want string) {
	t.Helper()
	file = filepath.FromSlash(file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	from := strings.Index("\n"+rest, "\n"+end)
	if !found || from < 0 {
		t.Fatalf("%s has nothing between %q and %q", file, begin, end)
	}
	switch whole := before + begin + want + rest[from:]; {
	case whole == string(text):
	case update:
		if err := os.WriteFile(file, []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s, %s: is\n%s, and from the declaration it would be\n%s\nWrite it with -run %s -update", file, strings.TrimSpace(begin), rest[:from], want, t.Name())
	}
}
