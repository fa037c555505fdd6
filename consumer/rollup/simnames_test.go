package rollup

import (
	"context"
	"fmt"
	"slices"

	"footfall/consumer/store"
	"footfall/models"
)

// ListNames lists names. Only where it is about them is it a step at which something may happen, so that the plays of other controls
// stay as they are.
func (v *view) ListNames(ctx context.Context, names []models.Name) error {
	switch {
	case v.w.controls == controls{}:
		return v.call(ctx, func() error { return v.Memory.ListNames(ctx, names) })
	case (v.w.controls.lateNames || v.w.controls.namesAfter) && v.who == consuming:
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

// listAfter is a control: names are listed when their counters are written, before the chunk is committed. The next owner reads a chunk that
// is not committed again and lists its names, so in the end none is missing.
func (v *view) listAfter(ctx context.Context) error {
	if v.w.controls.namesAfter && v.who == consuming && !v.crashed.Load() {
		return v.listLate(ctx)
	}
	return nil
}

// checkOrder notes what a write of counters adds to without a name in the lists. The control that lists names late is to be found by what
// the lists lack in the end, so it is spared.
func (w *world) checkOrder(write store.KeyWrite) {
	if w.controls.lateNames {
		return
	}
	w.store.Mu.Lock()
	defer w.store.Mu.Unlock()
	w.plan.Names(write.Key, write.Cells, func(n models.Name) {
		if !w.store.Names[n] {
			w.early = append(w.early, n)
		}
	})
}

// checkLists compares the lists with the counters. Consumers that still run have had the time to list what a control lists late.
func (w *world) checkLists(ctx context.Context) error {
	for _, a := range w.live() {
		if err := a.listLate(ctx); err != nil {
			return err
		}
	}
	if len(w.early) > 0 {
		return fmt.Errorf("counted before they were listed: %v", w.early)
	}
	if missing := w.unlisted(); len(missing) > 0 {
		return fmt.Errorf("counted, but not listed: %v", missing)
	}
	return nil
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
		w.plan.Names(key, counted, func(n models.Name) {
			if !w.store.Names[n] {
				missing = append(missing, n)
			}
		})
	}
	return missing
}
