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

// repairAll repairs the broken keys and checks them again, until every replica has them right. It puts each span in doubt before it repairs,
// so that the partitions' owners check its keys once more after the audit.
func (a *Auditor) repairAll(ctx context.Context) error {
	if len(a.broken) == 0 {
		return nil
	}
	defer clear(a.broken)
	if err := a.agree(ctx); err != nil {
		return err
	}
	gone := 0
	for round := 0; round < auditRounds && len(a.broken) > 0; round++ {
		var failed bool
		gone, failed = a.repairOnce(ctx)
		if failed { // a write of unknown outcome may still be applied
			if err := retry.Sleep(ctx, a.Store.WriteTimeout()+repair.SettleMargin); err != nil {
				return err
			}
		}
		whole, err := a.confirm(ctx, a.broken, a.report)
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

// agree refuses repairs beside consumers of another version: they decide about events in another way.
func (a *Auditor) agree(ctx context.Context) error {
	if !a.repair {
		return nil
	}
	others, err := patiently(ctx, func() ([]store.Owner, error) { return eventlog.OwnersOfOtherVersions(ctx, a.store, a.Sources.Counts) })
	if err == nil && slices.ContainsFunc(others, eventlog.Held) {
		err = eventlog.Refuse("%s", eventlog.DescribeOtherVersion(others))
	}
	return err
}

// repairOnce repairs each span once. It returns how many spans the log no longer has, and whether others failed.
func (a *Auditor) repairOnce(ctx context.Context) (gone int, failed bool) {
	spans := spansOff(a.broken, a.Reach.Offsets)
	for _, p := range slices.SortedFunc(maps.Keys(spans), models.Partition.Compare) {
		for _, s := range spans[p] {
			d := store.Doubt{Partition: p, From: s.From, To: s.To, Reason: store.DoubtAudit}
			f, err := a.Check(ctx, p, s, offWithin(a.broken, p, s), a.Renew(ctx, &d))
			switch {
			case eventlog.IsRefusal(err) || f.Gone > 0:
				gone++
				a.report(fmt.Sprintf("offsets %d to %d of %s/%d cannot all be checked: %d of them are no longer in the log (%v)",
					s.From, s.To-1, p.Topic, p.Number, f.Gone, err))
			case err != nil: // the next round tries again
				failed = true
				a.report(fmt.Sprintf("repairing: %v", err))
			}
		}
	}
	return gone, failed
}

// confirm removes from broken the keys that every replica has right, and returns how many those are.
func (a *Auditor) confirm(ctx context.Context, broken map[models.Key][]store.LedgerRow, report func(string)) (int, error) {
	cells := make(map[models.Key][]models.Cell, len(broken))
	for key := range broken {
		cells[key] = nil
	}
	rows, complete, err := store.Confirmed(ctx, a.Store, cells)
	if err != nil {
		return 0, err
	}
	if !complete {
		report("a replica does not answer, so the repairs cannot be confirmed: run the audit again when it is up")
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

// offWithin lists the keys that are off within s.
func offWithin(broken map[models.Key][]store.LedgerRow, p models.Partition, s eventlog.Span) (keys []models.Key) {
	for key, rows := range broken {
		if len(repair.ExcessesIn(rows, p, s)) > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// spansOff lists, per partition and in order, the spans in which any key is off. Spans that are at most near apart are merged: the offsets
// between them have to be read in any case. Long ones are cut into pieces.
func spansOff(broken map[models.Key][]store.LedgerRow, near int64) map[models.Partition][]eventlog.Span {
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
