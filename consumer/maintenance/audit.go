package maintenance

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/consumer/eventlog"
	"footfall/consumer/repair"
	"footfall/consumer/store"
	"footfall/models"
)

// AuditOptions say what an audit is to do.
type AuditOptions struct {
	Repair bool              // mend what is off
	Only   []models.Keyspace // empty: all
	// Walk is the name under which an audit that was stopped can be gone on with, empty: it cannot; Resume: go on with that.
	Walk   string
	Resume bool
}

// Audit is what an audit found.
type Audit struct {
	Keys             int // read
	Off              int // whose ledger covers offsets more or less than once
	Repaired         int // of those, mended from the log
	MismatchedTotals int // links whose total is not the sum over hours, days, countries or referrers
	Busy             int // links whose sums changed all the while and were not compared
	Unreadable       int // stretches that the log no longer holds, so that they could not be checked or mended
}

// Clean tells whether nothing is wrong, or nothing any more.
func (a Audit) Clean() bool {
	return a.Off == a.Repaired && a.MismatchedTotals == 0 && a.Unreadable == 0
}

// auditRounds bounds how often repairs are looked at again: one that meets another repair, or is of unknown outcome, is
// mended by the next.
const auditRounds = 5

// maxBroken bounds the keys that are off and not yet repaired.
const maxBroken = 10_000

// RunAudit checks every key that has a ledger, whoever owns its partitions meanwhile, and if it is to repair mends what is off from
// the log. report gets a line per finding and, on long runs, on progress, from several goroutines at once. It returns an error if it
// could not finish.
func RunAudit(ctx context.Context, cfg configs.Consumer, store store.AuditStore, o AuditOptions, log *slog.Logger, report func(string)) (Audit, error) {
	l, err := eventlog.New(cfg, store, log)
	if err != nil {
		return Audit{}, err
	}
	src, err := l.Sources(ctx)
	if err != nil {
		return Audit{}, err
	}
	if o.Repair { // it decides as consumers do
		others, err := eventlog.OwnersOfOtherVersions(ctx, store, src.Counts)
		if err != nil {
			return Audit{}, err
		}
		if slices.ContainsFunc(others, eventlog.Held) {
			return Audit{}, eventlog.Refuse("%s", eventlog.DescribeOtherVersion(others))
		}
	}
	c := repair.NewChecker(l, src, eventlog.NewHasher(), repair.NewMetrics(prometheus.NewRegistry()))
	return NewAuditor(c, store, WalkParts, WalkAtOnce).Run(ctx, o, report)
}

// Auditor is one audit under way.
type Auditor struct {
	*repair.Checker
	store              store.AuditStore
	parts, partsAtOnce int
	maxBroken          int // keys that are gathered before they are repaired
	repair             bool
	report             func(string)

	mu     sync.Mutex // parts are read side by side; repairs are made by one at a time
	found  Audit
	broken map[models.Key][]store.LedgerRow // to be repaired
}

// NewAuditor makes one that reads each keyspace of s in parts, partsAtOnce of them at the same time, and repairs with c.
func NewAuditor(c *repair.Checker, s store.AuditStore, parts, partsAtOnce int) *Auditor {
	return &Auditor{Checker: c, store: s, parts: parts, partsAtOnce: partsAtOnce, maxBroken: maxBroken}
}

// Run audits the store.
func (a *Auditor) Run(ctx context.Context, o AuditOptions, report func(string)) (Audit, error) {
	a.repair, a.report, a.broken = o.Repair, report, map[models.Key][]store.LedgerRow{}
	w := Walker{
		Keyspaces: o.Only, Parts: a.parts, AtOnce: a.partsAtOnce, What: "keys", name: o.Walk, resume: o.Resume, notes: a.store,
		Report: func(format string, args ...any) { report(fmt.Sprintf(format, args...)) },
	}
	if len(o.Only) == 0 {
		w.Keyspaces = Keyspaces
	}
	before, err := w.Walk(ctx, a.part)
	a.found.Keys += before // in which nothing was found
	if err != nil {
		return a.found, fmt.Errorf("auditing: %w", err)
	}
	return a.found, a.repairAll(ctx)
}

// part audits a part of a keyspace, and tells whether nothing was found there.
func (a *Auditor) part(ctx context.Context, part store.Part, read func(int)) (clean bool, err error) {
	clean = true
	err = a.store.Keys(ctx, part, func(batch []store.KeyLedger) error {
		read(len(batch))
		off, err := a.off(ctx, batch)
		if err != nil {
			return err
		}
		mismatched, busy := 0, 0
		if part.Keyspace == models.URLShortener {
			if mismatched, busy, err = a.sums(ctx, batch); err != nil {
				return err
			}
		}
		clean = clean && len(off)+mismatched+busy == 0
		return a.add(ctx, Audit{Keys: len(batch), Off: len(off), MismatchedTotals: mismatched, Busy: busy}, off)
	})
	return clean, err
}

// add adds up what was found in a batch, and mends what is off when there is much of it.
func (a *Auditor) add(ctx context.Context, found Audit, off []store.KeyLedger) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.found.Keys += found.Keys
	a.found.Off += found.Off
	a.found.MismatchedTotals += found.MismatchedTotals
	a.found.Busy += found.Busy
	if !a.repair {
		return nil
	}
	for _, k := range off {
		a.broken[k.Key] = k.Rows
	}
	if len(a.broken) < a.maxBroken {
		return nil
	}
	return a.repairAll(ctx)
}

// off lists the keys of a batch whose ledger breaks the rule, with it.
func (a *Auditor) off(ctx context.Context, batch []store.KeyLedger) (off []store.KeyLedger, err error) {
	var suspects []models.Key
	for _, k := range batch {
		if len(describe(k.Key, k.Rows)) > 0 {
			suspects = append(suspects, k.Key)
		}
	}
	if len(suspects) == 0 {
		return nil, nil
	}
	// Owners write meanwhile, and a key's rows may have come in two pages: ask again before calling it off.
	again, err := patiently(ctx, func() (map[models.Key][]store.LedgerRow, error) { return a.store.Ledger(ctx, suspects) })
	if err != nil {
		return nil, err
	}
	for _, key := range suspects {
		lines := describe(key, again[key])
		for _, line := range lines {
			a.report(line)
		}
		if len(lines) > 0 {
			off = append(off, store.KeyLedger{Key: key, Rows: again[key]})
		}
	}
	return off, nil
}

// describe tells, a line each, where a key's ledger breaks the rule.
func describe(key models.Key, rows []store.LedgerRow) (lines []string) {
	for _, p := range repair.PartitionsOf(rows) {
		for _, e := range repair.Excesses(rows, p) {
			lines = append(lines, fmt.Sprintf("%s %s %q: offsets %d to %d of %s/%d are counted %d times",
				key.Keyspace, key.Name, key.Features.Values(), e.From, e.To-1, p.Topic, p.Number, e.N+1))
		}
	}
	return lines
}

// sums compares links' totals with the sums over their parts, and tells how many differ, and how many could not be compared. They are
// read one after the other, so they are compared only if the ledger is the same before and after: then nothing was counted
// meanwhile.
func (a *Auditor) sums(ctx context.Context, batch []store.KeyLedger) (mismatched, busy int, err error) {
	for range auditRounds {
		links := make([]models.Key, len(batch))
		for i, k := range batch {
			links[i] = k.Key
		}
		found, err := patiently(ctx, func() (map[models.Key]store.LinkSums, error) { return a.store.Sums(ctx, links) })
		if err != nil {
			return 0, 0, err
		}
		var changed []store.KeyLedger
		for _, k := range batch {
			switch sums := found[k.Key]; {
			case !slices.Equal(k.Rows, sums.Ledger):
				changed = append(changed, store.KeyLedger{Key: k.Key, Rows: sums.Ledger})
			case !a.even(k.Key, sums.Tables):
				mismatched++
			}
		}
		if batch = changed; len(batch) == 0 {
			break
		}
	}
	return mismatched, len(batch), nil
}

// even tells whether a link's total is the sum over its parts, and says so if it is not.
func (a *Auditor) even(link models.Key, sums map[string]int64) bool {
	for _, table := range []string{models.HourCounters, models.DayCounters, models.CountryCounters, models.ReferrerCounters} {
		if sums[table] != sums[models.ClickCounter] {
			a.report(fmt.Sprintf("%s: clickcounter has %d, %s add up to %d", link.Name, sums[models.ClickCounter], table, sums[table]))
			return false
		}
	}
	return true
}
