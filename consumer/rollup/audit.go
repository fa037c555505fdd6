package rollup

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
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
	inspectors, err := c.inspectors(ctx)
	if err != nil {
		return Audit{}, err
	}
	return c.checker(inspectors).audit(ctx, store, repair, report)
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
		if off := describe(key, rows); len(off) > 0 {
			broken[key] = rows
			for _, line := range off {
				report(line)
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

// auditRepair mends the broken keys and looks at them again, until they are whole.
func (c *checker) auditRepair(ctx context.Context, broken map[models.Key][]LedgerRow, a *Audit, report func(string)) error {
	for range auditRounds {
		spans := stretches(broken)
		for _, p := range slices.SortedFunc(maps.Keys(spans), comparePartitions) {
			s, keys := spans[p], slices.SortedFunc(maps.Keys(broken), compareKeys)
			_, err := c.check(ctx, p, s, keys, true)
			if unreadable(err) {
				a.Unreadable++
				report(fmt.Sprintf("offsets %d to %d of %s/%d cannot be checked: %v", s.from, s.to-1, p.Topic, p.Number, err))
			} else if err != nil {
				report(fmt.Sprintf("repairing: %v", err)) // it is looked at again
			}
		}
		rows, err := c.store.Ledger(ctx, slices.Collect(maps.Keys(broken)))
		if err != nil {
			return err
		}
		for key := range broken {
			if len(describe(key, rows[key])) == 0 {
				delete(broken, key)
				a.Repaired++
			}
		}
		if len(broken) == 0 || a.Unreadable > 0 {
			break
		}
	}
	return nil
}

// stretches spans, per partition, what is off in any key.
func stretches(broken map[models.Key][]LedgerRow) map[models.Partition]span {
	out := map[models.Partition]span{}
	for _, rows := range broken {
		for _, p := range partitionsOf(rows) {
			for _, e := range excesses(rows, p) {
				s, ok := out[p]
				if !ok {
					s = span{math.MaxInt64, 0}
				}
				out[p] = span{min(s.from, e.from), max(s.to, e.to)}
			}
		}
	}
	return out
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
