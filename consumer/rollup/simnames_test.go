package rollup

import (
	"context"
	"slices"

	"footfall/models"
)

// ListNames lists names. Only where it is about them is it a step at which something may happen, so that the plays of other controls
// stay as they are.
func (v *view) ListNames(ctx context.Context, names []models.Name) error {
	switch {
	case v.w.controls == controls{}:
		return v.call(ctx, func() error { return v.Memory.ListNames(ctx, names) })
	case v.w.controls.lateNames && v.who == consuming:
		v.unlisted = append(v.unlisted, slices.Clone(names)...)
		return nil
	}
	return v.Memory.ListNames(ctx, names)
}

// listLate is a control: names are listed when there is time, after their counters. The process may have died by then.
func (a *actor) listLate(ctx context.Context) error {
	defer func() { a.unlisted = nil }()
	return a.ListNames(ctx, a.unlisted)
}

// unlisted are the names of what is counted that no list has.
func (w *world) unlisted() (missing []models.Name) {
	for key, cells := range w.store.Counters {
		counted := map[models.Cell]int64{}
		for cell, n := range cells {
			if n != 0 {
				counted[cell] = n
			}
		}
		models.DefaultPlan().Names(key, counted, func(n models.Name) {
			if !w.store.Names[n] {
				missing = append(missing, n)
			}
		})
	}
	return missing
}
