// Package oracle says what every cell of every table must hold after a list of events. It is the second opinion of the
// end-to-end tests: slow, simple, and written apart from the product, with which it shares the event types and nothing
// else (independence_test.go holds it to that). What it knows it has from the tables' description, not from the code.
package oracle

import (
	"footfall/models"
)

// Oracle counts events one by one. The zero value is not usable: call New. It is not safe for concurrent use.
type Oracle struct {
	cells Cells
	seen  map[string]bool

	// Clicks and Visits are the events counted, Duplicates those that were not because their id had been.
	Clicks, Visits, Duplicates int64
}

// New makes an oracle that has seen nothing.
func New() *Oracle {
	return &Oracle{cells: Cells{}, seen: map[string]bool{}}
}

// Click counts a click, unless one with its id was counted before.
func (o *Oracle) Click(c *models.Click) {
	if o.again("click", c.ID) {
		return
	}
	o.Clicks++
	o.cells.click(c)
}

// Visit counts a visit, unless one with its id was counted before.
func (o *Oracle) Visit(v *models.Visit) {
	if o.again("visit", v.ID) {
		return
	}
	o.Visits++
	o.cells.visit(v)
}

// Cells are the cells so far. The caller must not change them.
func (o *Oracle) Cells() Cells { return o.cells }

// again tells whether an id was seen. Clicks and visits are in different logs, so their ids are different worlds.
func (o *Oracle) again(kind, id string) bool {
	key := kind + " " + id
	if o.seen[key] {
		o.Duplicates++
		return true
	}
	o.seen[key] = true
	return false
}
