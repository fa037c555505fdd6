package rollup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/eventlog"
	"footfall/consumer/names"
	"footfall/consumer/repair"
	"footfall/consumer/rollup/meter"
	"footfall/consumer/rollup/sight"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// keptDeadLetters keeps dead letters.
type keptDeadLetters struct{ letters []*eventlog.DeadLetter }

func (g *keptDeadLetters) Close() error { return nil }

func (g *keptDeadLetters) Write(_ context.Context, letters []*eventlog.DeadLetter) error {
	g.letters = append(g.letters, letters...)
	return nil
}

// newOwner makes an owner of p0 and p1 in m, at offset 0 of both.
func newOwner(t *testing.T, m *memstore.Memory, lru int) *ownership {
	t.Helper()
	h, mx := eventlog.NewHasher(), meter.New(prometheus.NewRegistry())
	o := &ownership{
		store: m, owner: t.Name(), hasher: h, visitors: sight.New(m, h, lru, m.Full, costAtOnce, mx.LRUHits, mx.Lookups), ledger: newLedger(m, h, 1000), names: names.New(m, models.DefaultPlan(), h, 1000),
		deadLetters: &keptDeadLetters{}, metrics: mx, log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		partitions: map[models.Partition]*owned{},
		lostGroup:  func() bool { return false },
		doubts:     repair.NewDoubter(m, mx.Repair, slog.New(slog.DiscardHandler)),
		maxSpan:    repair.MaxChunkSpan,
		costAtOnce: costAtOnce,
		keysAtOnce: 3,
		splitAbove: splitAbove,
		bounds: func(context.Context, []models.Partition) (map[models.Partition]eventlog.Span, error) {
			return map[models.Partition]eventlog.Span{p0: {From: 0, To: 10_000}, p1: {From: 0, To: 10_000}}, nil
		},
		timeFrom: func(context.Context, models.Partition, int64) (int64, time.Time, error) {
			return 0, time.Time{}, errors.New("no log")
		},
	}
	for _, p := range []models.Partition{p0, p1} {
		o.partitions[p] = &owned{window: eventlog.NewWindow(eventlog.Reach{Offsets: 100, Age: time.Hour}, 0)}
	}
	if err := o.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o
}

// chunkOf makes a chunk of clicks on link abc by these IPs, from the owner's next offset on.
func chunkOf(o *ownership, p models.Partition, ips ...string) *chunk {
	c := newChunk(false)
	for i, ip := range ips {
		offset := o.partitions[p].next + int64(i)
		o.add(c, eventlog.Item{Partition: p, Offset: offset, Event: clickAt(p, offset, ip)})
	}
	return c
}

func clickAt(p models.Partition, offset int64, ip string) *models.Click {
	return &models.Click{V: 1, ID: fmt.Sprint(p, offset), ShortURL: "abc", IP: ip, TS: models.Earliest}
}

func clicksIn(m *memstore.Memory) int64 { return m.Counters[abc][hit] }
func uniquesIn(m *memstore.Memory) int64 {
	return m.Counters[abc][models.Cell{Counter: models.UniqueCounter}]
}

func wantCounts(t *testing.T, m *memstore.Memory, clicks, uniques int64) {
	t.Helper()
	if clicksIn(m) != clicks || uniquesIn(m) != uniques {
		t.Errorf("counted %d clicks, %d uniques; want %d, %d", clicksIn(m), uniquesIn(m), clicks, uniques)
	}
}

func flush(t *testing.T, o *ownership, c *chunk) {
	t.Helper()
	if err := o.flush(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func TestFlushCounts(t *testing.T) {
	m := memstore.New()
	o := newOwner(t, m, 100)
	flush(t, o, chunkOf(o, p0, "a", "b", "a"))
	wantCounts(t, m, 3, 2)
	flush(t, o, chunkOf(o, p0, "a", "c"))
	wantCounts(t, m, 5, 3)
	if m.Lookups != 3 {
		t.Errorf("%d lookups for 3 visitors: the LRU does not help", m.Lookups)
	}
	if m.Writes != 2 || m.LedgerReads != 0 {
		t.Errorf("%d writes, %d ledger reads for one link in two flushes by the first owner ever", m.Writes, m.LedgerReads)
	}
	if got := o.places()[p0].Offset; got != 5 {
		t.Errorf("ready to commit %d, want 5", got)
	}
}

func TestFlushSumsOverPartitions(t *testing.T) {
	m := memstore.New()
	o := newOwner(t, m, 100)
	c := chunkOf(o, p0, "a", "b")
	for i, ip := range []string{"c", "d", "e"} {
		o.add(c, eventlog.Item{Partition: p1, Offset: int64(i), Event: &models.Click{
			V: 1, ID: ip, ShortURL: "abc", IP: ip, TS: models.Earliest,
		}})
	}
	flush(t, o, c)
	wantCounts(t, m, 5, 5)
	if m.Writes != 1 {
		t.Errorf("%d writes for one link over two partitions, want 1", m.Writes)
	}
}

// However late an event comes, it counts: only a retirement refuses it.
func TestALateEventCounts(t *testing.T) {
	m := memstore.New()
	o := newOwner(t, m, 100)
	c, late := newChunk(false), models.Earliest.Time().AddDate(1, 0, 0)
	o.add(c, eventlog.Item{Partition: p0, At: late, Event: clickAt(p0, 0, "a")})
	o.add(c, eventlog.Item{Partition: p1, At: late, Event: &models.Visit{V: 1, ID: "v", SiteID: "site", GUID: "g", TS: models.Earliest, Features: []string{"", ""}}})
	flush(t, o, c)
	wantCounts(t, m, 1, 1)
	site := models.Key{Keyspace: models.Cardinality, Name: "site", Month: models.Earliest.Month(), Features: models.NewFeatures("", "")}
	if views := m.Counters[site][models.Cell{Counter: models.MonthViews, At: site.Month}]; views != 1 {
		t.Errorf("%d views, want that of the visit", views)
	}
}

// A process without caches that counts the same offsets again finds them in the ledger.
func TestReplayCountsOnce(t *testing.T) {
	m := memstore.New()
	o := newOwner(t, m, 100)
	flush(t, o, chunkOf(o, p0, "a", "b", "a"))
	synctest.Test(t, func(t *testing.T) {
		again := newOwner(t, m, 0)
		flush(t, again, chunkOf(again, p0, "a", "b", "a", "b", "c"))
		wantCounts(t, m, 5, 3)
	})
}

// A write that was applied but answered with a timeout is neither lost nor counted twice.
func TestUnknownOutcome(t *testing.T) {
	f := func(name string, lost bool) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memstore.New()
				m.Timeout = 5 * time.Second
				o := newOwner(t, m, 100)
				flush(t, o, chunkOf(o, p0, "a", "b"))
				epoch, failures := o.partitions[p0].tenure.Epoch, 0
				m.OnApply = func(store.KeyWrite) memstore.Fault {
					if failures++; failures > 3 {
						return memstore.Fault{}
					}
					return memstore.Fault{Err: memstore.Unknown("timeout"), Lost: lost}
				}
				begun := time.Now()
				flush(t, o, chunkOf(o, p0, "a", "c"))
				wantCounts(t, m, 4, 3)
				if waited := time.Since(begun); waited < m.Timeout {
					t.Errorf("read the ledger %v after a write of unknown outcome, which takes %v to land", waited, m.Timeout)
				}
				if now := o.partitions[p0].tenure.Epoch; now <= epoch {
					t.Errorf("still epoch %d after an unknown outcome", now)
				}
				if doubts := m.OpenDoubts[p0]; len(doubts) != 1 || doubts[0].From != 2 || doubts[0].To != 4 {
					t.Errorf("doubts %v, want one about 2 to 4", doubts)
				}
			})
		})
	}
	f("applied", false)
	f("lost", true)
}

// Our own writes of unknown outcome are awaited also if another owner has taken the partitions meanwhile, and left them clean.
func TestOwnWritesAreAwaitedAfterAnotherOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		m.Timeout = 5 * time.Second
		o := newOwner(t, m, 100)
		m.OnTake = func() {
			for p, row := range m.OwnerRows {
				row.Epoch, row.Clean = m.NextEpoch(row.Epoch), true
				m.OwnerRows[p] = row
			}
		}
		if err := o.recover(t.Context(), chunkOf(o, p0, "a"), memstore.Unknown("timeout"), 0); err != nil || time.Until(o.landedBy) < m.Timeout {
			t.Errorf("%v; the ledger is read in %v, want after %v", err, time.Until(o.landedBy), m.Timeout)
		}
	})
}

// A visitor must not be cached before its insert has succeeded.
func TestFailedInsertIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		o := newOwner(t, m, 100)
		failures := 0
		m.OnRemember = func() error {
			if failures++; failures > 2 {
				return nil
			}
			return errors.New("no connection")
		}
		flush(t, o, chunkOf(o, p0, "a"))
		wantCounts(t, m, 1, 1)
		if len(m.First) != 1 {
			t.Errorf("%d visitors in the store, want 1", len(m.First))
		}
	})
}

// What is not counted must not be committed.
func TestFailedFlushMovesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		o := newOwner(t, m, 100)
		flush(t, o, chunkOf(o, p0, "a"))
		m.OnApply = func(store.KeyWrite) memstore.Fault {
			return memstore.Fault{Err: errors.New("no connection"), Lost: true}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := o.flush(ctx, chunkOf(o, p0, "a", "b")); err == nil {
			t.Error("flush succeeded without a store")
		}
		if got := o.places()[p0].Offset; got != 1 {
			t.Errorf("ready to commit %d, want 1", got)
		}
		wantCounts(t, m, 1, 1)
	})
}

func TestDeadLettersAreSentOncePerChunk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		o := newOwner(t, m, 100)
		c := chunkOf(o, p0, "a")
		o.add(c, eventlog.Item{Partition: p0, Offset: 1, Dead: &eventlog.DeadLetter{Invalid: &models.Invalid{Reason: "bad_json"}}})
		failures := 0
		m.OnApply = func(store.KeyWrite) memstore.Fault {
			if failures++; failures > 1 {
				return memstore.Fault{}
			}
			return memstore.Fault{Err: memstore.Unknown("timeout")}
		}
		flush(t, o, c)
		if n := len(o.deadLetters.(*keptDeadLetters).letters); n != 1 {
			t.Errorf("%d dead letters, want 1", n)
		}
		if got := o.places()[p0].Offset; got != 2 {
			t.Errorf("ready to commit %d, want 2: a dead letter must not stop the partition", got)
		}
	})
}

// The successor of an owner that left clean keeps its epoch. The successor of a crashed one takes a new epoch and waits until the
// crashed owner's writes have landed.
func TestSuccession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		m.Timeout = 5 * time.Second
		first := newOwner(t, m, 100)
		flush(t, first, chunkOf(first, p0, "a"))
		if err := first.release(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := newOwner(t, m, 100)
		if !store.IsFirstEpoch(second.partitions[p0].tenure.Epoch) || !second.landedBy.IsZero() {
			t.Errorf("after an owner that left clean: epoch %d, writes landed by %v", second.partitions[p0].tenure.Epoch, second.landedBy)
		}
		third := newOwner(t, m, 100) // second has crashed
		if third.partitions[p0].tenure.Epoch <= second.partitions[p0].tenure.Epoch || time.Until(third.landedBy) < m.Timeout {
			t.Errorf("after a crashed owner: epoch %d, writes landed in %v", third.partitions[p0].tenure.Epoch, time.Until(third.landedBy))
		}
		flush(t, third, chunkOf(third, p0, "a", "b"))
		wantCounts(t, m, 2, 2)
		if ok, err := m.Release(t.Context(), second.partitions[p0].tenure, 9); ok || err != nil {
			t.Errorf("an owner that lost the partition released it: %v, %v", ok, err)
		}
	})
}

// The group's offset is set back to 0, and the next owner leaves before it has counted anything. The owner after it must still read
// the ledger.
func TestAnOwnerThatCountedNothingHidesNothing(t *testing.T) {
	m := memstore.New()
	first := newOwner(t, m, 100)
	flush(t, first, chunkOf(first, p0, "a"))
	leave := func(o *ownership) {
		t.Helper()
		if err := o.release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	leave(first)
	leave(newOwner(t, m, 100))
	third := newOwner(t, m, 100)
	if third.untouched() {
		t.Error("the partition is taken for one that was never counted")
	}
	flush(t, third, chunkOf(third, p0, "a", "b"))
	wantCounts(t, m, 2, 2)
}

// An owner that loses its partitions during a flush doubts what it may have counted.
func TestAFlushThatLosesItsPartitionsIsDoubted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		m.Timeout = 5 * time.Second
		o := newOwner(t, m, 100)
		o.lostGroup = func() bool { return true }
		m.OnApply = func(store.KeyWrite) memstore.Fault { return memstore.Fault{Err: memstore.Unknown("timeout")} }
		if err := o.countChunk(t.Context(), chunkOf(o, p0, "a", "b"), nil); err == nil {
			t.Error("a flush without an answer succeeded")
		}
		if doubts := m.OpenDoubts[p0]; len(doubts) != 1 || doubts[0].From != 0 || doubts[0].To != 2 {
			t.Errorf("doubts %v, want offsets 0 to 2", doubts)
		}
	})
}

// A chunk that the store keeps refusing is split until the store takes the parts.
func TestAChunkThatIsTooLargeIsSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		o := newOwner(t, m, 100)
		m.OnApply = func(w store.KeyWrite) memstore.Fault {
			if w.Cells[hit] > 600 {
				return memstore.Fault{Err: errors.New("request is too big"), Lost: true}
			}
			return memstore.Fault{}
		}
		ips := make([]string, 2000)
		for i := range ips {
			ips[i] = fmt.Sprint(i % 7)
		}
		epoch := o.partitions[p0].tenure.Epoch
		flush(t, o, chunkOf(o, p0, ips...))
		wantCounts(t, m, 2000, 7)
		if got := o.places()[p0].Offset; got != 2000 {
			t.Errorf("ready to commit %d, want 2000", got)
		}
		if now := o.partitions[p0].tenure.Epoch; now != epoch {
			t.Errorf("epoch %d after %d for a write that was certainly refused", now, epoch)
		}
	})
}

func TestHalves(t *testing.T) {
	m := memstore.New()
	o := newOwner(t, m, 100)
	c := chunkOf(o, p0, "a", "b", "c")
	o.add(c, eventlog.Item{Partition: p1, Offset: 4, Event: &models.Click{V: 1, ID: "x", ShortURL: "abc", IP: "d", TS: models.Earliest}})
	o.add(c, eventlog.Item{Partition: p1, Offset: 5, Dead: &eventlog.DeadLetter{Invalid: &models.Invalid{Reason: "bad_json"}}})
	h := c.halves()
	if h[0].spans[p0] != (eventlog.Span{From: 0, To: 2}) || h[1].spans[p0] != (eventlog.Span{From: 2, To: 3}) || h[0].spans[p1] != (eventlog.Span{From: 0, To: 4}) || h[1].spans[p1] != (eventlog.Span{From: 4, To: 6}) {
		t.Errorf("halves span %v and %v", h[0].spans, h[1].spans)
	}
	if h[0].events.Len() != 2 || h[1].events.Len() != 2 || len(h[0].dead) != 1 || len(h[1].dead) != 0 {
		t.Errorf("halves have %d and %d events, %d and %d dead letters", h[0].events.Len(), h[1].events.Len(), len(h[0].dead), len(h[1].dead))
	}
}
