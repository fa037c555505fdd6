package rollup

import (
	"context"
	"errors"

	"footfall/models"
)

var errDead = errors.New("this process is dead")

// The store as a consumer sees it: each call waits for its turn, and may find that its process died meanwhile.

func (a *actor) Take(ctx context.Context, p models.Partition, owner string) (Tenure, error) {
	if !a.wait("consumer") {
		return Tenure{}, errDead
	}
	return a.memory.Take(ctx, p, owner)
}

func (a *actor) Release(ctx context.Context, t Tenure, committed int64) (bool, error) {
	if !a.wait("consumer") {
		return false, errDead
	}
	return a.memory.Release(ctx, t, committed)
}

func (a *actor) FirstSeen(ctx context.Context, sightings []models.Sighting) (map[models.Sighting]models.Position, error) {
	if !a.wait("consumer") {
		return nil, errDead
	}
	return a.memory.FirstSeen(ctx, sightings)
}

// Remember stores the visitors one by one, and may fail in the middle.
func (a *actor) Remember(ctx context.Context, first map[models.Sighting]models.Position) error {
	for _, s := range sortedSightings(first) {
		if !a.wait("consumer") {
			return errDead
		}
		if a.w.faults && a.w.rnd.IntN(100) < 3 {
			if a.w.controls.earlyLRU {
				return nil
			}
			return errors.New("timeout")
		}
		if err := a.memory.Remember(ctx, map[models.Sighting]models.Position{s: first[s]}); err != nil {
			return err
		}
	}
	return nil
}

func (a *actor) Ledger(ctx context.Context, keys []models.Key) (map[models.Key][]LedgerRow, error) {
	if !a.wait("consumer") {
		return nil, errDead
	}
	return a.memory.Ledger(ctx, keys)
}

func (a *actor) Confirm(ctx context.Context, cells map[models.Key][]models.Cell) (map[models.Key][]LedgerRow, bool, error) {
	if !a.wait("consumer") {
		return nil, false, errDead
	}
	return a.memory.Confirm(ctx, cells)
}

func (a *actor) Apply(_ context.Context, writes []KeyWrite) []error {
	return a.applyAs("consumer", writes)
}

// applyAs applies the writes of a request one by one: it may be half applied when its process dies.
func (a *actor) applyAs(who string, writes []KeyWrite) []error {
	errs := make([]error, len(writes))
	for i, write := range writes {
		if !a.wait(who) {
			errs[i] = unknown("died")
			continue
		}
		errs[i] = a.w.write(write)
	}
	return errs
}

func (a *actor) NoteDoubt(ctx context.Context, d Doubt) error {
	if !a.wait("consumer") {
		return errDead
	}
	a.w.out.Doubts++
	a.w.tell("%s doubts %v", a, d)
	return a.memory.NoteDoubt(ctx, d)
}

// watcher is the store as the consumer's other goroutine sees it, which checks doubts.
type watcher struct{ *actor }

func (c *watcher) Doubts(ctx context.Context, p models.Partition) ([]Doubt, error) {
	if !c.wait("checker") {
		return nil, errDead
	}
	return c.memory.Doubts(ctx, p)
}

func (c *watcher) Confirm(ctx context.Context, cells map[models.Key][]models.Cell) (map[models.Key][]LedgerRow, bool, error) {
	if !c.wait("checker") {
		return nil, false, errDead
	}
	return c.memory.Confirm(ctx, cells)
}

func (c *watcher) FirstSeen(ctx context.Context, sightings []models.Sighting) (map[models.Sighting]models.Position, error) {
	if !c.wait("checker") {
		return nil, errDead
	}
	return c.memory.FirstSeen(ctx, sightings)
}

func (c *watcher) Apply(_ context.Context, writes []KeyWrite) []error {
	c.w.out.Repaired += len(writes)
	if c.w.controls.shrinks {
		writes = c.w.shrink(writes)
	}
	return c.applyAs("checker", writes)
}

func (c *watcher) NoteDoubt(ctx context.Context, d Doubt) error {
	if !c.wait("checker") {
		return errDead
	}
	return c.memory.NoteDoubt(ctx, d)
}

func (c *watcher) SettleDoubt(ctx context.Context, d Doubt) error {
	if !c.wait("checker") {
		return errDead
	}
	return c.memory.SettleDoubt(ctx, d)
}

// shrink is a control: instead of a minus row of its own, the repair takes the stretch away from an owner's row.
func (w *world) shrink(writes []KeyWrite) []KeyWrite {
	for i, write := range writes {
		for j, row := range write.Ledger {
			if row.Kind != KindMinus {
				continue
			}
			for id, have := range w.store.ledger[write.Key] {
				if id.Kind == KindOwner && id.Partition == row.Partition && have.To >= row.To {
					writes[i].Ledger[j] = LedgerRow{LedgerID: id, To: row.From - row.To}
				}
			}
		}
	}
	return writes
}
