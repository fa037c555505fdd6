package rollup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/store"
	"footfall/models"
)

// clicksLog is a log of clicks on link abc by one visitor.
type clicksLog int64

func (l clicksLog) read(_ context.Context, p models.Partition, s span, _ reach, each func(item)) (reading, error) {
	got := reading{span{s.from, min(s.to, int64(l))}, true}
	for offset := got.from; offset < got.to; offset++ {
		each(item{partition: p, offset: offset, event: clickAt(p, offset, "a")})
	}
	return got, nil
}

func newChecker(m store.Store, log logReader) *checker {
	return &checker{
		store: m, log: log, hasher: newHasher(), reach: reach{100, time.Hour}, number: freshNumber,
		metrics: newMetrics(prometheus.NewRegistry()), logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

func committed(context.Context, map[models.Partition]place) error { return nil }

// One who finds at the end that somebody else has taken its partition doubts all that it counted since it was last known to
// be its own.
func TestALostPartitionIsDoubted(t *testing.T) {
	f := func(name string, end func(o *ownership) error) {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			o := newOwner(t, m, 100)
			o.noted = time.Now()
			for range 3 {
				if err := o.countChunk(t.Context(), chunkOf(o, p0, "a", "a"), committed); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := m.Take(t.Context(), p0, "another"); err != nil {
				t.Fatal(err)
			}
			_ = end(o) // what it says is for the log
			if !slices.ContainsFunc(m.doubts[p0], func(d store.Doubt) bool { return d.From == 0 && d.To >= 6 }) {
				t.Errorf("doubts %v, want one about all of 0 to 6", m.doubts[p0])
			}
		})
	}
	f("release", func(o *ownership) error { return o.release(t.Context()) })
	f("progress", func(o *ownership) error {
		o.noted = time.Time{}
		return o.countChunk(t.Context(), chunkOf(o, p0, "a"), committed)
	})
}

// A flush that fails after its partitions were given away, even while it took them again, counts no more.
func TestNothingIsCountedAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		o := newOwner(t, m, 100)
		ended := false
		o.ended = func() bool { return ended }
		m.onApply = func(store.KeyWrite) fault { return fault{err: unknown("timeout"), lost: true} }
		m.onTake = func() { ended = true }
		err := o.countChunk(t.Context(), chunkOf(o, p0, "a"), committed)
		if !errors.Is(err, store.ErrUnknownOutcome) || m.clicks() != 0 || len(m.doubts[p0]) == 0 {
			t.Errorf("%v, %d counted, doubts %v", err, m.clicks(), m.doubts[p0])
		}
	})
}

// Before a repair is sent somebody is bound to look at the same keys again, and the time until then counts from its end.
func TestARepairIsDoubtedBeforeAndAfter(t *testing.T) {
	m := newMemory()
	o := newOwner(t, m, 100)
	if err := o.countChunk(t.Context(), chunkOf(o, p0, "a", "a"), committed); err != nil {
		t.Fatal(err)
	}
	m.apply(store.KeyWrite{ // a zombie's
		Key: abc, Cells: map[models.Cell]int64{hit: 2},
		Ledger: []store.LedgerRow{{LedgerID: store.LedgerID{Partition: p0, Kind: store.KindOwner, Epoch: 99}, From: 0, To: 2}},
	})
	before := -1
	m.onApply = func(store.KeyWrite) fault {
		before = len(m.doubts[p0])
		return fault{}
	}
	audit, err := newChecker(m, clicksLog(2)).audit(t.Context(), m, AuditOptions{Repair: true}, func(string) {})
	if err != nil || audit.Off != 1 || audit.Repaired != 1 || m.clicks() != 2 {
		t.Errorf("audit %+v, %v; %d clicks", audit, err, m.clicks())
	}
	if before != 1 || len(m.doubts[p0]) != 2 {
		t.Errorf("%d doubts before the repair, %d after, want 1 and 2", before, len(m.doubts[p0]))
	}
}

// A doubt that could not be looked at for long is not settled at once when it can: what was held back has to land first.
func TestLateLooksKeepTheirDistance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.timeout = 5 * time.Second
		c := newChecker(m, clicksLog(2))
		if err := m.NoteDoubt(t.Context(), store.Doubt{Partition: p0, ID: 1, From: 0, To: 2, NotedAt: time.Now()}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		back := time.Now()
		for len(m.doubts[p0]) > 0 {
			if err := c.checkDoubts(t.Context(), p0, time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(doubtInterval)
		}
		if took := time.Since(back); took < 10*time.Minute || took > 11*time.Minute {
			t.Errorf("settled %v after the store was back", took)
		}
	})
}

// fewEvents is a log with events at some offsets, in order, and none between them. Of what lies before 24 some may be missing.
type fewEvents struct {
	events  []counted
	deleted int64 // the offsets below
	cut     bool  // the ids before are gone
	err     error
}

func (l fewEvents) read(_ context.Context, p models.Partition, s span, _ reach, each func(item)) (reading, error) {
	for _, e := range l.events {
		if max(s.from, l.deleted) <= e.offset && e.offset < s.to {
			each(item{partition: p, offset: e.offset, event: e.event})
		}
	}
	if s.from >= 24 {
		return reading{s, true}, nil
	}
	return reading{span{max(s.from, l.deleted), s.to}, !l.cut}, l.err
}

// count does what an owner does that counts s of the log: its visitors, and the key's counters with a row over s.
func (l fewEvents) count(t *testing.T, m *memory, key models.Key, epoch int64, s span) {
	t.Helper()
	o := newOwner(t, m, 100)
	c := newChunk()
	for _, e := range l.events {
		o.add(c, item{partition: p0, offset: e.offset, event: e.event})
	}
	if err := o.visitors.decide(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w := store.KeyWrite{Key: key, Cells: map[models.Cell]int64{}, Ledger: []store.LedgerRow{{LedgerID: store.LedgerID{Partition: p0, Kind: store.KindOwner, Epoch: epoch}, From: s.from, To: s.to}}}
	for _, con := range contributions(c.events)[key] {
		if s.from <= con.offset && con.offset < s.to {
			w.Cells[con.cell] += con.n
		}
	}
	m.apply(w)
}

// Where a group was set back and a zombie counts as well, both cover offsets before the zombie's chunk where there was nothing to count
// for the key. A check of that chunk leaves none of it. What was counted twice before is left to the doubt about that.
func TestACheckReachesBackOverNothing(t *testing.T) {
	click := func(offset int64) counted { return counted{offset: offset, event: clickAt(p0, offset, "a")} }
	visit := func(offset int64, guid string) counted {
		return counted{offset: offset, event: &models.Visit{
			V: 1, ID: fmt.Sprint(offset), SiteID: "shop", GUID: guid, TS: models.Earliest, Features: []string{"blue", "large"},
		}}
	}
	uniques := models.Key{Keyspace: models.Cardinality, Name: "shop", Month: models.Earliest.Month(), Features: models.NewFeatures("blue", "large")}
	f := func(name string, key models.Key, log fewEvents, want ...excess) {
		t.Run(name, func(t *testing.T) {
			right, m := newMemory(), newMemory()
			log.count(t, right, key, 1, span{0, 27})
			for _, e := range want {
				log.count(t, right, key, 2, e.span)
			}
			log.count(t, m, key, 1, span{0, 27})  // the zombie
			log.count(t, m, key, 2, span{20, 26}) // one that was set back to 20
			if _, err := newChecker(m, log).check(t.Context(), p0, span{24, 27}, nil, func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			if got := excesses(sortedRows(m.ledger[key]), p0); !slices.Equal(got, want) {
				t.Errorf("off at %v, want %v", got, want)
			}
			if len(m.cells[key]) == 0 || !maps.Equal(m.cells[key], right.cells[key]) {
				t.Errorf("counted %v, want %v", m.cells[key], right.cells[key])
			}
		})
	}
	clicks := []counted{click(3), click(24), click(25), click(26)}
	f("no event before", abc, fewEvents{events: clicks})
	f("some of it deleted", abc, fewEvents{events: clicks, deleted: 22}, excess{span{20, 22}, 1})
	f("no ids", abc, fewEvents{events: clicks, cut: true}, excess{span{20, 24}, 1})
	f("it cannot be read", abc, fewEvents{events: clicks, err: errors.New("no broker")}, excess{span{20, 24}, 1})
	f("an event before", abc, fewEvents{events: []counted{click(21), click(24), click(25), click(26)}}, excess{span{20, 22}, 1})
	f("a known visitor before", uniques, fewEvents{events: []counted{visit(3, "a"), visit(21, "a"), visit(25, "b")}})
	f("a new visitor before", uniques, fewEvents{events: []counted{visit(3, "a"), visit(21, "c"), visit(25, "b")}}, excess{span{20, 22}, 1})
}
