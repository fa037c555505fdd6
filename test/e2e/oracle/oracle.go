// Package oracle says what every cell of every table must hold after a list of events. It is the second opinion of the
// end-to-end tests: slow, simple, and written apart from the product, with which it shares the event types and nothing
// else (independence_test.go holds it to that). What it knows it has from the tables' description, not from the code.
package oracle

import (
	"footfall/models"
)

// Oracle counts events one by one. The zero value is not usable: call New. It is not safe for concurrent use.
type Oracle struct {
	cells    Cells
	seen     map[[4]string]bool
	features []string        // names
	kept     map[string]bool // metrics; nil: all

	// Clicks and Visits are the events counted, Duplicates those that were not because their visitor had sent their id before.
	Clicks, Visits, Duplicates int64
}

// New makes an oracle that has seen nothing, of visits with features of these names: feature1 and feature2 if there are none.
func New(features ...string) *Oracle {
	if len(features) == 0 {
		features = []string{"feature1", "feature2"}
	}
	return &Oracle{cells: Cells{}, seen: map[[4]string]bool{}, features: features}
}

// Keep says which metrics there are. Without it there are all.
func (o *Oracle) Keep(metrics ...string) *Oracle {
	o.kept = map[string]bool{}
	for _, m := range metrics {
		o.kept[m] = true
	}
	return o
}

// Click counts a click, unless one with its id was counted before, of the same address on the same link.
func (o *Oracle) Click(c *models.Click) {
	if o.again("click", c.ShortURL, c.IP, c.ID) {
		return
	}
	o.Clicks++
	o.cells.click(c)
}

// Visit counts a visit, unless one with its id was counted before, of the same guid on the same site.
func (o *Oracle) Visit(v *models.Visit) {
	if o.again("visit", v.SiteID, v.GUID, v.ID) {
		return
	}
	o.Visits++
	o.visit(v)
}

// Cells are the cells so far. The caller must not change them.
func (o *Oracle) Cells() Cells { return o.cells }

// again tells whether an id of a visitor was seen. Clicks and visits are in different logs, so their ids are different worlds.
func (o *Oracle) again(kind, of, visitor, id string) bool {
	event := [4]string{kind, of, visitor, id}
	if o.seen[event] {
		o.Duplicates++
		return true
	}
	o.seen[event] = true
	return false
}
