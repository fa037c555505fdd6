package rollup

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/models"
)

// AuditStore is a store that can be audited: it can also be read as a whole.
type AuditStore interface {
	Store
	// Keys calls each with every key that has a ledger, in any order.
	Keys(ctx context.Context, each func(models.Key, []LedgerRow) error) error
	// Sums adds up the counters of a link, by table.
	Sums(ctx context.Context, key models.Key) (map[string]int64, error)
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

// RunAudit checks every key that has a ledger, whoever owns its partitions meanwhile, and with repair mends what is off from the
// log. report gets a line per finding and, on long runs, on progress. It returns an error if it could not finish.
func RunAudit(ctx context.Context, cfg configs.Consumer, store AuditStore, repair bool, log *slog.Logger, report func(string)) (Audit, error) {
	c, err := New(cfg, store, prometheus.NewRegistry(), log)
	if err != nil {
		return Audit{}, err
	}
	defer func() { _ = c.dead.close() }()
	src, err := c.sources(ctx)
	if err != nil {
		return Audit{}, err
	}
	if repair { // it decides as consumers do
		others, err := decidingOtherwise(ctx, store, src.topics())
		if err != nil {
			return Audit{}, err
		}
		if slices.ContainsFunc(others, held) {
			return Audit{}, &refusal{otherwise(others)}
		}
	}
	return c.checker(src).audit(ctx, store, repair, report)
}

func (c *checker) audit(ctx context.Context, store AuditStore, repair bool, report func(string)) (Audit, error) {
	var a Audit
	broken := map[models.Key][]LedgerRow{}
	last := time.Now()
	err := store.Keys(ctx, func(key models.Key, rows []LedgerRow) error {
		if a.Keys++; time.Since(last) > 5*time.Second {
			last = time.Now()
			report(fmt.Sprintf("%d keys read, %d off so far", a.Keys, len(broken)))
		}
		if len(describe(key, rows)) > 0 {
			// Owners write meanwhile, and a key's rows may have come in two pages: ask again before calling it off.
			again, err := store.Ledger(ctx, []models.Key{key})
			if err != nil {
				return err
			}
			if off := describe(key, again[key]); len(off) > 0 {
				broken[key] = again[key]
				for _, line := range off {
					report(line)
				}
			}
		}
		return c.auditSums(ctx, store, key, &a, report)
	})
	if err != nil {
		return a, fmt.Errorf("auditing: %w", err)
	}
	a.Off = len(broken)
	if repair && a.Off > 0 {
		err = c.auditRepair(ctx, broken, &a, report)
	}
	return a, err
}

// describe tells, a line each, where a key's ledger breaks the rule.
func describe(key models.Key, rows []LedgerRow) (lines []string) {
	for _, p := range partitionsOf(rows) {
		for _, e := range excesses(rows, p) {
			lines = append(lines, fmt.Sprintf("%s %s %q: offsets %d to %d of %s/%d are counted %d times",
				key.Keyspace, key.Name, key.Features.Values(), e.from, e.to-1, p.Topic, p.Number, e.n+1))
		}
	}
	return lines
}

// auditRepair mends the broken keys and looks at them again, until they are whole and every replica says so. Each stretch is
// put in doubt before it is mended, so that the partitions' owners look at the keys with events in it after the audit has ended too.
func (c *checker) auditRepair(ctx context.Context, broken map[models.Key][]LedgerRow, a *Audit, report func(string)) error {
	for range auditRounds {
		a.Unreadable = 0
		failed := false
		spans := stretches(broken, c.reach.offsets)
		for _, p := range slices.SortedFunc(maps.Keys(spans), comparePartitions) {
			for _, s := range spans[p] {
				f, err := c.check(ctx, p, s, offWithin(broken, p, s), c.noteAgain(ctx, Doubt{Partition: p, From: s.from, To: s.to, Reason: doubtAudit}))
				switch {
				case unreadable(err) || f.gone > 0:
					a.Unreadable++
					report(fmt.Sprintf("offsets %d to %d of %s/%d cannot all be checked: %d of them are no longer in the log (%v)",
						s.from, s.to-1, p.Topic, p.Number, f.gone, err))
				case err != nil: // it is looked at again
					failed = true
					report(fmt.Sprintf("repairing: %v", err))
				}
			}
		}
		if failed { // a write of unknown outcome may still land
			if err := sleep(ctx, c.store.WriteTimeout()+settleMargin); err != nil {
				return err
			}
		}
		whole, err := c.look(ctx, broken, report)
		if err != nil {
			return err
		}
		a.Repaired += whole
		if len(broken) == 0 || a.Unreadable > 0 && !failed {
			break
		}
	}
	return nil
}

// look takes out of broken what is whole on every replica, and says how many that are.
func (c *checker) look(ctx context.Context, broken map[models.Key][]LedgerRow, report func(string)) (int, error) {
	cells := make(map[models.Key][]models.Cell, len(broken))
	for key := range broken {
		cells[key] = nil
	}
	rows, complete, err := c.store.Confirm(ctx, cells)
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
func offWithin(broken map[models.Key][]LedgerRow, p models.Partition, s span) (keys []models.Key) {
	for key, rows := range broken {
		if len(excessesIn(rows, p, s)) > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// stretches lists, per partition, what is off in any key, in order. Stretches that are less than near apart are one: the
// offsets between them have to be read in any case.
func stretches(broken map[models.Key][]LedgerRow, near int64) map[models.Partition][]span {
	all := map[models.Partition][]span{}
	for _, rows := range broken {
		for _, p := range partitionsOf(rows) {
			for _, e := range excesses(rows, p) {
				all[p] = append(all[p], e.span)
			}
		}
	}
	for p, list := range all {
		slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
		var out []span
		for _, s := range list {
			if n := len(out) - 1; n >= 0 && s.from <= out[n].to+near {
				out[n].to = max(out[n].to, s.to)
			} else {
				out = append(out, s)
			}
		}
		all[p] = nil
		for _, s := range out {
			all[p] = append(all[p], s.pieces()...)
		}
	}
	return all
}

// auditSums compares a link's total with the sums over its parts. They are read one after the other, so they are compared
// only if the ledger is the same before and after: then nothing was counted meanwhile.
func (c *checker) auditSums(ctx context.Context, store AuditStore, key models.Key, a *Audit, report func(string)) error {
	if key.Keyspace != models.URLShortener {
		return nil
	}
	for range auditRounds {
		before, err := store.Ledger(ctx, []models.Key{key})
		if err != nil {
			return err
		}
		sums, err := store.Sums(ctx, key)
		if err != nil {
			return err
		}
		after, err := store.Ledger(ctx, []models.Key{key})
		if err != nil {
			return err
		}
		if !slices.Equal(before[key], after[key]) {
			continue
		}
		for _, table := range []string{models.HourCounters, models.DayCounters, models.CountryCounters, models.ReferrerCounters} {
			if sums[table] != sums[models.ClickCounter] {
				a.Unsums++
				report(fmt.Sprintf("%s: clickcounter has %d, %s add up to %d", key.Name, sums[models.ClickCounter], table, sums[table]))
				return nil
			}
		}
		return nil
	}
	a.Busy++
	return nil
}
