// Package oracle computes what every cell of every table must hold after a list of events. It is slow and simple, and was written from
// the description of the tables. It shares only the event types with the product (independence_test.go checks that).
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

	// Clicks and Visits are the events counted, Duplicates those not counted because their visitor had sent the id before.
	Clicks, Visits, Duplicates int64
}

// New makes an empty oracle. Visits have features of these names, by default feature1 and feature2.
func New(features ...string) *Oracle {
	if len(features) == 0 {
		features = []string{"feature1", "feature2"}
	}
	return &Oracle{cells: Cells{}, seen: map[[4]string]bool{}, features: features}
}

// Keep sets the metrics to count. By default all are counted.
func (o *Oracle) Keep(metrics ...string) *Oracle {
	o.kept = map[string]bool{}
	for _, m := range metrics {
		o.kept[m] = true
	}
	return o
}

// Click counts a click unless one with the same id, address and link was counted before.
func (o *Oracle) Click(c *models.Click) {
	if o.again("click", c.ShortURL, c.IP, c.ID) {
		return
	}
	o.Clicks++
	o.click(c)
}

// Visit counts a visit unless one with the same id, guid and site was counted before.
func (o *Oracle) Visit(v *models.Visit) {
	if o.again("visit", v.SiteID, v.GUID, v.ID) {
		return
	}
	o.Visits++
	o.visit(v)
}

// Cells are the cells so far. The caller must not change them.
func (o *Oracle) Cells() Cells { return o.cells }

// again reports whether a visitor has sent an id before. Clicks and visits are in different topics, so their ids are independent.
func (o *Oracle) again(kind, of, visitor, id string) bool {
	event := [4]string{kind, of, visitor, id}
	if o.seen[event] {
		o.Duplicates++
		return true
	}
	o.seen[event] = true
	return false
}
