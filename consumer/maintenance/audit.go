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

// AuditOptions say what an audit does. The zero value checks all keys, repairs nothing and cannot be resumed.
type AuditOptions struct {
	Repair bool              // repair keys that are off, from the log
	Only   []models.Keyspace // empty: all
	Walk   string            // the name under which progress is saved; empty: it is not
	Resume bool              // continue the audit that was saved under Walk
}

// Audit is what an audit found.
type Audit struct {
	Keys             int // read
	Off              int // keys whose ledger covers offsets more or less than once
	Repaired         int // of those, repaired from the log
	MismatchedTotals int // links whose total is not the sum over hours, days, countries or referrers
	Busy             int // links that were not compared, since consumers kept writing to them
	Unreadable       int // spans that could not be checked or repaired, now or by consumers, since the log no longer has them
}

// Clean tells whether the audit found nothing, or repaired all of it.
func (a Audit) Clean() bool {
	return a.Off == a.Repaired && a.MismatchedTotals == 0 && a.Unreadable == 0
}

// auditRounds bounds how often keys are repaired and checked again. A repair whose outcome is unknown, or that coincides with another, is
// corrected by the next round.
const auditRounds = 5

// maxBroken bounds how many keys are collected before they are repaired.
const maxBroken = 10_000

// RunAudit checks every key that has a ledger, while consumers go on. With o.Repair it repairs keys that are off from the log, and returns
// a *eventlog.Refusal if a consumer of another DecisionVersion holds partitions. It calls report with a line per finding, and about
// progress, concurrently. It returns an error if it could not finish.
func RunAudit(ctx context.Context, cfg configs.Consumer, store store.AuditStore, o AuditOptions, log *slog.Logger, report func(string)) (Audit, error) {
	l, err := eventlog.New(cfg, store, log)
	if err != nil {
		return Audit{}, err
	}
	src, err := l.Sources(ctx)
	if err != nil {
		return Audit{}, err
	}
	c := repair.NewChecker(l, src, eventlog.NewHasher(), repair.NewMetrics(prometheus.NewRegistry()))
	return NewAuditor(c, store, WalkParts, WalkAtOnce).Run(ctx, o, report)
}

// Auditor is one audit. Use it once, from one goroutine.
type Auditor struct {
	*repair.Checker
	store              store.AuditStore
	parts, partsAtOnce int
	maxBroken          int // keys that are collected before they are repaired
	repair             bool
	report             func(string)

	mu     sync.Mutex // parts are read concurrently; one goroutine at a time repairs
	found  Audit
	broken map[models.Key][]store.LedgerRow // to be repaired
}

// NewAuditor makes an auditor that reads each keyspace of s in parts, partsAtOnce of them concurrently, and repairs with c.
func NewAuditor(c *repair.Checker, s store.AuditStore, parts, partsAtOnce int) *Auditor {
	return &Auditor{Checker: c, store: s, parts: parts, partsAtOnce: partsAtOnce, maxBroken: maxBroken}
}

// Run audits the store, as RunAudit does.
func (a *Auditor) Run(ctx context.Context, o AuditOptions, report func(string)) (Audit, error) {
	a.repair, a.report, a.broken = o.Repair, report, map[models.Key][]store.LedgerRow{}
	if err := a.agree(ctx); err != nil { // now, and not after hours of reading
		return a.found, err
	}
	w := Walker{
		Keyspaces: o.Only, Parts: a.parts, AtOnce: a.partsAtOnce, What: "keys", name: o.Walk, resume: o.Resume, notes: a.store,
		Report: func(format string, args ...any) { report(fmt.Sprintf(format, args...)) },
	}
	if len(o.Only) == 0 {
		w.Keyspaces = Keyspaces
	}
	before, err := w.Walk(ctx, a.part)
	a.found.Keys += before // in parts that were clean
	if err != nil {
		return a.found, fmt.Errorf("auditing: %w", err)
	}
	doubts, err := unsettled(ctx, a.store)
	if err != nil {
		return a.found, fmt.Errorf("auditing: %w", err)
	}
	for _, d := range doubts {
		a.found.Unreadable++
		a.report(describeDoubt(d) + ": consumer accept-gap ends this")
	}
	return a.found, a.repairAll(ctx)
}

// part audits one part of a keyspace. It returns true if it found nothing.
func (a *Auditor) part(ctx context.Context, part store.Part, read func(int)) (clean bool, err error) {
	clean = true
	err = a.store.Keys(ctx, part, func(batch []store.KeyLedger) error {
		read(len(batch))
		off, err := a.keysOff(ctx, batch)
		if err != nil {
			return err
		}
		mismatched, busy := 0, 0
		if part.Keyspace == models.URLShortener {
			if mismatched, busy, err = a.compareSums(ctx, batch); err != nil {
				return err
			}
		}
		clean = clean && len(off)+mismatched+busy == 0
		return a.add(ctx, Audit{Keys: len(batch), Off: len(off), MismatchedTotals: mismatched, Busy: busy}, off)
	})
	return clean, err
}

// add adds the findings of a batch, and repairs when enough keys are collected.
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

// keysOff lists the keys of a batch that are off, with their ledgers, and reports each.
func (a *Auditor) keysOff(ctx context.Context, batch []store.KeyLedger) (off []store.KeyLedger, err error) {
	var suspects []models.Key
	for _, k := range batch {
		if len(describe(k.Key, k.Rows)) > 0 {
			suspects = append(suspects, k.Key)
		}
	}
	if len(suspects) == 0 {
		return nil, nil
	}
	// Owners write meanwhile, and a key's rows may have come in two pages: read the ledger again before reporting it.
	again, err := patiently(ctx, func() (map[models.Key][]store.LedgerRow, error) { return store.Ledgers(ctx, a.store, suspects) })
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

// describe returns a line for each span that a key's ledger covers more or less than once.
func describe(key models.Key, rows []store.LedgerRow) (lines []string) {
	for _, p := range repair.PartitionsOf(rows) {
		for _, e := range repair.Excesses(rows, p) {
			lines = append(lines, fmt.Sprintf("%s %s %q: offsets %d to %d of %s/%d are counted %d times",
				key.Keyspace, key.Name, key.Features.Values(), e.From, e.To-1, p.Topic, p.Number, e.N+1))
		}
	}
	return lines
}

// compareSums compares links' totals with the sums over their parts. It returns how many differ, and how many could not be compared. Tables are
// read one after the other, so a link is compared only if its ledger is the same before and after: then nobody wrote meanwhile.
func (a *Auditor) compareSums(ctx context.Context, batch []store.KeyLedger) (mismatched, busy int, err error) {
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
			case !a.sumsMatch(k.Key, sums.Counters):
				mismatched++
			}
		}
		if batch = changed; len(batch) == 0 {
			break
		}
	}
	return mismatched, len(batch), nil
}

// sumsMatch tells whether a link's total is the sum over its parts, and reports it if not.
func (a *Auditor) sumsMatch(link models.Key, sums map[string]int64) bool {
	for _, part := range a.Plan.PartsOf(models.ClickCounter) {
		if sums[part.Name] != sums[models.ClickCounter] {
			a.report(fmt.Sprintf("%s: clickcounter has %d, %s add up to %d", link.Name, sums[models.ClickCounter], part.Place(), sums[part.Name]))
			return false
		}
	}
	return true
}
