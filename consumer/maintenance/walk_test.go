package maintenance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// link is the key of link i with one click at offset i, as an owner writes it.
func link(i int) store.KeyWrite {
	cells := map[models.Cell]int64{hit: 1}
	for _, c := range models.DefaultPlan().PartsOf(models.ClickCounter) {
		cells[models.Cell{Counter: c.Name}] = 1
	}
	return store.KeyWrite{
		Key:    models.LinkKey(fmt.Sprint("link", i)),
		Cells:  cells,
		Ledger: []store.LedgerRow{{LedgerID: store.LedgerID{Partition: p0, Kind: store.KindOwner, Epoch: 1}, From: int64(i), To: int64(i) + 1}},
	}
}

// links is a store that counts how many keys were read, and fails at one of them.
type links struct {
	*memstore.Memory
	reads  atomic.Int64
	fatal  models.Key
	failed error
}

func newLinks(n int) *links {
	m := memstore.New()
	for i := range n {
		m.ApplyOne(link(i))
	}
	return &links{Memory: m, failed: errors.New("no connection")}
}

func (l *links) Keys(ctx context.Context, part store.Part, each func([]store.KeyLedger) error) error {
	return l.Memory.Keys(ctx, part, func(batch []store.KeyLedger) error {
		for _, k := range batch {
			if k.Key == l.fatal {
				return l.failed
			}
		}
		l.reads.Add(int64(len(batch)))
		return each(batch)
	})
}

func TestAuditResumesWhereItWasStopped(t *testing.T) {
	const n, parts = 300, 16
	l := newLinks(n)
	audit := func(resume bool) (Audit, error) {
		c := NewAuditor(testChecker(l.Memory, clicksLog(1)), l, parts, 1)
		l.reads.Store(0)
		return c.Run(t.Context(), AuditOptions{Only: []models.Keyspace{models.URLShortener}, Walk: "audit", Resume: resume}, func(string) {})
	}
	whole := func(resume bool, want Audit, reads func(int64) bool) {
		t.Helper()
		found, err := audit(resume)
		if err != nil || found != want || !reads(l.reads.Load()) {
			t.Errorf("%+v, %v, after %d keys read; want %+v", found, err, l.reads.Load(), want)
		}
	}
	all := func(reads int64) bool { return reads == n }
	some := func(reads int64) bool { return reads > 0 && reads < n/2 }

	l.fatal = lateKey(n, parts)
	if _, err := audit(false); !errors.Is(err, l.failed) {
		t.Fatal(err)
	}
	l.fatal = models.Key{}
	whole(true, Audit{Keys: n}, some)
	whole(true, Audit{Keys: n}, all) // it was over

	// A resumed audit finds again what the stopped one had found: else nobody would report it.
	early := link(0).Key
	for i := 0; !memstore.Holds(store.Part{Keyspace: models.URLShortener, Number: 0, Of: parts}, early); i++ {
		early = link(i).Key
	}
	l.Counters[early][hit] = 7
	l.fatal = lateKey(n, parts)
	if found, err := audit(false); !errors.Is(err, l.failed) || found.MismatchedTotals != 1 {
		t.Fatal(found, err)
	}
	l.fatal = models.Key{}
	whole(true, Audit{Keys: n, MismatchedTotals: 1}, some)
	if _, err := audit(false); err != nil {
		t.Fatal(err)
	}
	whole(false, Audit{Keys: n, MismatchedTotals: 1}, all)
}

// lateKey is a key in the last quarter of the parts.
func lateKey(n, parts int) models.Key {
	for i := range n {
		if key := link(i).Key; memstore.Holds(store.Part{Keyspace: models.URLShortener, Number: parts * 3 / 4, Of: parts}, key) {
			return key
		}
	}
	return models.Key{}
}

func TestProgressReportsRateAndTimeLeft(t *testing.T) {
	p := newProgress("keys", 512, walked{Of: 256, Keys: 99, Done: map[models.Keyspace][]int{models.Cardinality: {1, 2}}}, nil)
	p.keys = 30_000
	if got := p.line(10 * time.Second); got != "30000 keys read, 3000 a second; 2 of 512 parts" {
		t.Error(got)
	}
	for number := range 10 {
		p.finished(store.Part{Keyspace: models.URLShortener, Number: number, Of: 256}, 3000, number%2 == 0)
	}
	if got := p.line(10 * time.Second); got != "30000 keys read, 3000 a second; 12 of 512 parts, about 8m20s left" {
		t.Error(got)
	}
	if w := p.walked(); w.Keys != 99+5*3000 || w.parts() != 7 || !w.has(store.Part{Keyspace: models.URLShortener, Number: 4, Of: 256}) || w.has(store.Part{Keyspace: models.URLShortener, Number: 5, Of: 256}) {
		t.Errorf("%+v", w)
	}
}

// An audit repairs as soon as enough keys are off, not only at the end: memory is bounded.
func TestAuditRepairsAsItGoes(t *testing.T) {
	const n = 10
	m := memstore.New()
	for i := range n {
		w := link(i)
		w.Ledger[0].From, w.Ledger[0].To = int64(100+i), int64(101+i) // offsets at which the log has no event of theirs
		m.ApplyOne(w)
		w.Ledger[0].Epoch = 2 // a zombie's
		m.ApplyOne(w)
	}
	l := &links{Memory: m}
	c := NewAuditor(testChecker(m, clicksLog(200)), l, 1, 1)
	c.maxBroken = 3
	var first int64
	m.OnApply = func(store.KeyWrite) memstore.Fault {
		if first == 0 {
			first = l.reads.Load()
		}
		return memstore.Fault{}
	}
	var lines []string
	found, err := c.Run(t.Context(), AuditOptions{Repair: true}, func(line string) { lines = append(lines, line) })
	if want := (Audit{Keys: n, Off: n, Repaired: n}); err != nil || found != want || first != 3 {
		t.Errorf("%+v, %v; %d keys were read when the first was repaired; want %+v\n%s", found, err, first, want, strings.Join(lines, "\n"))
	}
}

// An audit of hours stops to repair when a consumer of another version has begun.
func TestAuditStopsRepairsBesideAnotherVersion(t *testing.T) {
	const n = 10
	m := memstore.New()
	for i := range n {
		w := link(i)
		w.Ledger[0].From, w.Ledger[0].To = int64(100+i), int64(101+i)
		m.ApplyOne(w)
		w.Ledger[0].Epoch = 2
		m.ApplyOne(w)
	}
	checker := testChecker(m, clicksLog(200))
	checker.Sources = eventlog.Sources{p0.Topic: {Topic: p0.Topic, Inspect: eventlog.NewInspector(nil, 1)}}
	c := NewAuditor(checker, &links{Memory: m}, 1, 1)
	c.maxBroken = 3
	lines := 0
	found, err := c.Run(t.Context(), AuditOptions{Repair: true}, func(string) {
		if lines++; lines == 5 {
			if _, err := m.Take(t.Context(), p0, "other/1/u/v3"); err != nil {
				t.Error(err)
			}
		}
	})
	if !eventlog.IsRefusal(err) || found.Repaired == 0 || found.Repaired == n {
		t.Errorf("%+v, %v", found, err)
	}
}

// All keys that either side has are compared once.
func TestCompareCoversTheKeysOfBothSides(t *testing.T) {
	live, fresh := memstore.New(), memstore.New()
	for i := range 100 {
		if i != 7 {
			live.ApplyOne(link(i))
		}
		if i != 11 {
			fresh.ApplyOne(link(i))
		}
	}
	live.Counters[link(50).Key][hit] = 5
	site := store.KeyWrite{Key: models.Key{Keyspace: models.Cardinality, Name: "s"}, Cells: map[models.Cell]int64{{Counter: models.MonthViews}: 2}, Ledger: link(1).Ledger}
	live.ApplyOne(site)
	fresh.ApplyOne(site)
	var said atomic.Int64
	c := &Comparer{Live: Side{Store: live}, Fresh: Side{Store: fresh}, Parts: 8, Report: func(string, ...any) { said.Add(1) }}
	err := c.All(t.Context(), Keyspaces, func(key models.Key) bool { return key.Name != "link3" })
	each := len(link(0).Cells)
	want := Comparison{Keys: 100, Cells: 99*each + 1, Differ: 2*each + 1}
	if err != nil || c.Found != want || said.Load() != maxDiffering {
		t.Errorf("%+v, %v, %d lines; want %+v", c.Found, err, said.Load(), want)
	}
	// One side has counted more than the other: the key is busy until the other has caught up.
	c = &Comparer{Live: Side{live, map[models.Partition]int64{p0: 100}}, Fresh: Side{fresh, map[models.Partition]int64{p0: 90}}, Parts: 8, Report: c.Report}
	if err := c.All(t.Context(), Keyspaces, func(models.Key) bool { return true }); err != nil || len(c.Busy) != 10 {
		t.Errorf("%d keys are busy, %v; want 10", len(c.Busy), err)
	}
	c.Fresh.At[p0] = 100
	if err := c.Again(t.Context()); err != nil || len(c.Busy) != 0 || c.Found.Keys != 101 {
		t.Errorf("%+v, %v", c.Found, err)
	}
}
