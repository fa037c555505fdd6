package maintenance

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"footfall/consumer/eventlog"
	"footfall/consumer/repair"
	"footfall/consumer/store"
	"footfall/internal/retry"
	"footfall/models"
)

// repairAll mends the broken keys and looks at them again, until they are whole and every replica says so. Each stretch is put in
// doubt before it is mended, so that the partitions' owners look at the keys with events in it after the audit has ended too.
func (a *Auditor) repairAll(ctx context.Context) error {
	defer clear(a.broken)
	gone := 0
	for round := 0; round < auditRounds && len(a.broken) > 0; round++ {
		var failed bool
		gone, failed = a.repairOnce(ctx)
		if failed { // a write of unknown outcome may still land
			if err := retry.Sleep(ctx, a.Store.WriteTimeout()+repair.SettleMargin); err != nil {
				return err
			}
		}
		whole, err := a.look(ctx, a.broken, a.report)
		if err != nil {
			return err
		}
		a.found.Repaired += whole
		if gone > 0 && !failed {
			break
		}
	}
	a.found.Unreadable += gone
	return nil
}

// repairOnce tells how many stretches the log no longer holds, and whether others failed.
func (a *Auditor) repairOnce(ctx context.Context) (gone int, failed bool) {
	spans := stretches(a.broken, a.Reach.Offsets)
	for _, p := range slices.SortedFunc(maps.Keys(spans), models.Partition.Compare) {
		for _, s := range spans[p] {
			f, err := a.Check(ctx, p, s, offWithin(a.broken, p, s), a.NoteAgain(ctx, store.Doubt{Partition: p, From: s.From, To: s.To, Reason: store.DoubtAudit}))
			switch {
			case eventlog.IsRefusal(err) || f.Gone > 0:
				gone++
				a.report(fmt.Sprintf("offsets %d to %d of %s/%d cannot all be checked: %d of them are no longer in the log (%v)",
					s.From, s.To-1, p.Topic, p.Number, f.Gone, err))
			case err != nil: // it is looked at again
				failed = true
				a.report(fmt.Sprintf("repairing: %v", err))
			}
		}
	}
	return gone, failed
}

// look takes out of broken what is whole on every replica, and says how many that are.
func (a *Auditor) look(ctx context.Context, broken map[models.Key][]store.LedgerRow, report func(string)) (int, error) {
	cells := make(map[models.Key][]models.Cell, len(broken))
	for key := range broken {
		cells[key] = nil
	}
	rows, complete, err := a.Store.Confirm(ctx, cells)
	if err != nil {
		return 0, err
	}
	if !complete {
		report("a replica does not answer: whether the repairs hold is not certain before it does; run the audit again then")
		return 0, nil
	}
	whole := 0
	for key := range broken {
		if broken[key] = rows[key]; len(describe(key, rows[key])) == 0 {
			delete(broken, key)
			whole++
		}
	}
	return whole, nil
}

// offWithin lists the keys that are off in s.
func offWithin(broken map[models.Key][]store.LedgerRow, p models.Partition, s eventlog.Span) (keys []models.Key) {
	for key, rows := range broken {
		if len(repair.ExcessesIn(rows, p, s)) > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// stretches lists, per partition, what is off in any key, in order. Stretches that are less than near apart are one: the
// offsets between them have to be read in any case.
func stretches(broken map[models.Key][]store.LedgerRow, near int64) map[models.Partition][]eventlog.Span {
	all := map[models.Partition][]eventlog.Span{}
	for _, rows := range broken {
		for _, p := range repair.PartitionsOf(rows) {
			for _, e := range repair.Excesses(rows, p) {
				all[p] = append(all[p], e.Span)
			}
		}
	}
	for p, list := range all {
		slices.SortFunc(list, func(a, b eventlog.Span) int { return cmp.Compare(a.From, b.From) })
		var out []eventlog.Span
		for _, s := range list {
			if n := len(out) - 1; n >= 0 && s.From <= out[n].To+near {
				out[n].To = max(out[n].To, s.To)
			} else {
				out = append(out, s)
			}
		}
		all[p] = nil
		for _, s := range out {
			all[p] = append(all[p], repair.Pieces(s)...)
		}
	}
	return all
}
