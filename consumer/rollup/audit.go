package rollup

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
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
	Keys       int // read
	Off        int // whose ledger covers offsets more or less than once
	Repaired   int // of those, mended from the log
	Unsums     int // links whose total is not the sum over hours, days, countries or referrers
	Busy       int // links whose sums changed all the while and were not compared
	Unreadable int // stretches that the log no longer holds, so that they could not be checked or mended
}

// Clean tells whether nothing is wrong, or nothing any more.
func (a Audit) Clean() bool { return a.Off == a.Repaired && a.Unsums == 0 && a.Unreadable == 0 }

// auditRounds bounds how often repairs are looked at again: one that meets another repair, or is of unknown outcome, is
// mended by the next.
const auditRounds = 5

// maxBroken bounds the keys that are off and not yet repaired.
const maxBroken = 10_000

// RunAudit checks every key that has a ledger, whoever owns its partitions meanwhile, and if it is to repair mends what is off from
// the log. report gets a line per finding and, on long runs, on progress, from several goroutines at once. It returns an error if it
// could not finish.
func RunAudit(ctx context.Context, cfg configs.Consumer, store store.AuditStore, o AuditOptions, log *slog.Logger, report func(string)) (Audit, error) {
	c, err := New(cfg, store, prometheus.NewRegistry(), log)
	if err != nil {
		return Audit{}, err
	}
	defer func() { _ = c.dead.close() }()
	src, err := c.sources(ctx)
	if err != nil {
		return Audit{}, err
	}
	if o.Repair { // it decides as consumers do
		others, err := decidingOtherwise(ctx, store, src.counts)
		if err != nil {
			return Audit{}, err
		}
		if slices.ContainsFunc(others, held) {
			return Audit{}, &refusal{otherwise(others)}
		}
	}
	return c.checker(src).audit(ctx, store, o, report)
}

// auditor is one audit under way.
type auditor struct {
	*checker
	store  store.AuditStore
	repair bool
	report func(string)

	mu     sync.Mutex // parts are read side by side; repairs are made by one at a time
	found  Audit
	broken map[models.Key][]store.LedgerRow // to be repaired
}

func (c *checker) audit(ctx context.Context, db store.AuditStore, o AuditOptions, report func(string)) (Audit, error) {
	a := &auditor{checker: c, store: db, repair: o.Repair, report: report, broken: map[models.Key][]store.LedgerRow{}}
	w := walker{
		keyspaces: o.Only, parts: max(1, c.parts), atOnce: max(1, c.partsAtOnce), what: "keys", name: o.Walk, resume: o.Resume, notes: db,
		report: func(format string, args ...any) { report(fmt.Sprintf(format, args...)) },
	}
	if len(o.Only) == 0 {
		w.keyspaces = keyspaces
	}
	before, err := w.walk(ctx, a.part)
	a.found.Keys += before // in which nothing was found
	if err != nil {
		return a.found, fmt.Errorf("auditing: %w", err)
	}
	return a.found, a.mend(ctx)
}

// part audits a part of a keyspace, and tells whether nothing was found there.
func (a *auditor) part(ctx context.Context, part store.Part, read func(int)) (clean bool, err error) {
	clean = true
	err = a.store.Keys(ctx, part, func(batch []store.KeyLedger) error {
		read(len(batch))
		off, err := a.off(ctx, batch)
		if err != nil {
			return err
		}
		unsums, busy := 0, 0
		if part.Keyspace == models.URLShortener {
			if unsums, busy, err = a.sums(ctx, batch); err != nil {
				return err
			}
		}
		clean = clean && len(off)+unsums+busy == 0
		return a.add(ctx, Audit{Keys: len(batch), Off: len(off), Unsums: unsums, Busy: busy}, off)
	})
	return clean, err
}

// add adds up what was found in a batch, and mends what is off when there is much of it.
func (a *auditor) add(ctx context.Context, found Audit, off []store.KeyLedger) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.found.Keys += found.Keys
	a.found.Off += found.Off
	a.found.Unsums += found.Unsums
	a.found.Busy += found.Busy
	if !a.repair {
		return nil
	}
	for _, k := range off {
		a.broken[k.Key] = k.Rows
	}
	if len(a.broken) < cmp.Or(a.maxBroken, maxBroken) {
		return nil
	}
	return a.mend(ctx)
}

// off lists the keys of a batch whose ledger breaks the rule, with it.
func (a *auditor) off(ctx context.Context, batch []store.KeyLedger) (off []store.KeyLedger, err error) {
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
	for _, p := range partitionsOf(rows) {
		for _, e := range excesses(rows, p) {
			lines = append(lines, fmt.Sprintf("%s %s %q: offsets %d to %d of %s/%d are counted %d times",
				key.Keyspace, key.Name, key.Features.Values(), e.from, e.to-1, p.Topic, p.Number, e.n+1))
		}
	}
	return lines
}

// sums compares links' totals with the sums over their parts, and tells how many differ, and how many could not be compared. They are
// read one after the other, so they are compared only if the ledger is the same before and after: then nothing was counted
// meanwhile.
func (a *auditor) sums(ctx context.Context, batch []store.KeyLedger) (unsums, busy int, err error) {
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
				unsums++
			}
		}
		if batch = changed; len(batch) == 0 {
			break
		}
	}
	return unsums, len(batch), nil
}

// even tells whether a link's total is the sum over its parts, and says so if it is not.
func (a *auditor) even(link models.Key, sums map[string]int64) bool {
	for _, table := range []string{models.HourCounters, models.DayCounters, models.CountryCounters, models.ReferrerCounters} {
		if sums[table] != sums[models.ClickCounter] {
			a.report(fmt.Sprintf("%s: clickcounter has %d, %s add up to %d", link.Name, sums[models.ClickCounter], table, sums[table]))
			return false
		}
	}
	return true
}
