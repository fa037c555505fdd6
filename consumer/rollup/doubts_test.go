package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/eventlog"
	"footfall/consumer/maintenance"
	"footfall/consumer/repair"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// clicksLog is a log of clicks on link abc by one visitor.
type clicksLog int64

func (l clicksLog) Read(_ context.Context, p models.Partition, s eventlog.Span, _ eventlog.Reach, each func(eventlog.Item)) (eventlog.Reading, error) {
	got := eventlog.Reading{Span: eventlog.Span{From: s.From, To: min(s.To, int64(l))}, Whole: true}
	for offset := got.From; offset < got.To; offset++ {
		each(eventlog.Item{Partition: p, Offset: offset, Event: clickAt(p, offset, "a")})
	}
	return got, nil
}

func testChecker(m store.Store, log eventlog.Reader) *repair.Checker {
	return &repair.Checker{
		Doubter: *repair.NewDoubter(m, repair.NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler)), Plan: models.DefaultPlan(),
		Reader: log, Hasher: eventlog.NewHasher(), Reach: eventlog.Reach{Offsets: 100, Age: time.Hour},
	}
}

func committed(context.Context, map[models.Partition]eventlog.GroupOffset) error { return nil }

// An owner that finds its partition taken doubts all that it counted since the store last confirmed that it owns it.
func TestALostPartitionIsDoubted(t *testing.T) {
	f := func(name string, end func(o *ownership) error) {
		t.Run(name, func(t *testing.T) {
			m := memstore.New()
			o := newOwner(t, m, 100)
			o.progressAt = time.Now()
			for range 3 {
				if err := o.countChunk(t.Context(), chunkOf(o, p0, "a", "a"), committed); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := m.Take(t.Context(), p0, "another"); err != nil {
				t.Fatal(err)
			}
			_ = end(o) // the doubts tell
			if !slices.ContainsFunc(m.OpenDoubts[p0], func(d store.Doubt) bool { return d.From == 0 && d.To >= 6 }) {
				t.Errorf("doubts %v, want one about all of 0 to 6", m.OpenDoubts[p0])
			}
		})
	}
	f("release", func(o *ownership) error { return o.release(t.Context()) })
	f("progress", func(o *ownership) error {
		o.progressAt = time.Time{}
		return o.countChunk(t.Context(), chunkOf(o, p0, "a"), committed)
	})
}

// A flush that fails after the group gave the partitions away, even while it took them again, writes no more.
func TestNothingIsCountedAfterThePartitionsAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		o := newOwner(t, m, 100)
		ended := false
		o.lostGroup = func() bool { return ended }
		m.OnApply = func(store.KeyWrite) memstore.Fault {
			return memstore.Fault{Err: memstore.Unknown("timeout"), Lost: true}
		}
		m.OnTake = func() { ended = true }
		err := o.countChunk(t.Context(), chunkOf(o, p0, "a"), committed)
		if !errors.Is(err, store.ErrUnknownOutcome) || clicksIn(m) != 0 || len(m.OpenDoubts[p0]) == 0 {
			t.Errorf("%v, %d counted, doubts %v", err, clicksIn(m), m.OpenDoubts[p0])
		}
	})
}

// A repair is put in doubt before it is sent, so that its keys are checked again, and once more when it is done.
func TestARepairIsDoubtedBeforeAndAfter(t *testing.T) {
	m := memstore.New()
	o := newOwner(t, m, 100)
	if err := o.countChunk(t.Context(), chunkOf(o, p0, "a", "a"), committed); err != nil {
		t.Fatal(err)
	}
	m.ApplyOne(store.KeyWrite{ // a zombie's
		Key: abc, Cells: map[models.Cell]int64{hit: 2},
		Ledger: []store.LedgerRow{{LedgerID: store.LedgerID{Partition: p0, Kind: store.KindOwner, Epoch: 99}, From: 0, To: 2}},
	})
	before := -1
	m.OnApply = func(store.KeyWrite) memstore.Fault {
		before = len(m.OpenDoubts[p0])
		return memstore.Fault{}
	}
	audit, err := maintenance.NewAuditor(testChecker(m, clicksLog(2)), m, 1, 1).Run(t.Context(), maintenance.AuditOptions{Repair: true}, func(string) {})
	if err != nil || audit.Off != 1 || audit.Repaired != 1 || clicksIn(m) != 2 {
		t.Errorf("audit %+v, %v; %d clicks", audit, err, clicksIn(m))
	}
	if before != 1 || len(m.OpenDoubts[p0]) != 1 {
		t.Errorf("%d doubts before the repair, %d after, want one each time", before, len(m.OpenDoubts[p0]))
	}
}

// fewEvents is a log with events at some offsets, in order, and none between them. Offsets before 24 may be deleted or unreadable.
type fewEvents struct {
	events  []eventlog.Counted
	deleted int64 // offsets below this one are
	cut     bool  // the ids of the duplicate window are deleted
	err     error // of reading offsets before 24
}

func (l fewEvents) Read(_ context.Context, p models.Partition, s eventlog.Span, _ eventlog.Reach, each func(eventlog.Item)) (eventlog.Reading, error) {
	for _, e := range l.events {
		if max(s.From, l.deleted) <= e.Offset && e.Offset < s.To {
			each(eventlog.Item{Partition: p, Offset: e.Offset, Event: e.Event})
		}
	}
	if s.From >= 24 {
		return eventlog.Reading{Span: s, Whole: true}, nil
	}
	return eventlog.Reading{Span: eventlog.Span{From: max(s.From, l.deleted), To: s.To}, Whole: !l.cut}, l.err
}

// count counts s of the log as an owner does: it stores the visitors, and writes the key's counters with a ledger row over s.
func (l fewEvents) count(t *testing.T, m *memstore.Memory, key models.Key, epoch int64, s eventlog.Span) {
	t.Helper()
	o := newOwner(t, m, 100)
	c := newChunk(false)
	for _, e := range l.events {
		o.add(c, eventlog.Item{Partition: p0, Offset: e.Offset, Event: e.Event})
	}
	if err := o.decideFirst(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w := store.KeyWrite{Key: key, Cells: map[models.Cell]int64{}, Ledger: []store.LedgerRow{{LedgerID: store.LedgerID{Partition: p0, Kind: store.KindOwner, Epoch: epoch}, From: s.From, To: s.To}}}
	for _, e := range c.events.All() {
		if e.Offset < s.From || s.To <= e.Offset {
			continue
		}
		e.Event.Count(e.First, func(k models.Key, cell models.Cell, n int64) {
			if k == key {
				w.Cells[cell] += n
			}
		})
	}
	m.ApplyOne(w)
}

// A group was set back, and a zombie counts as well: both cover offsets before the zombie's chunk that have no event of the key. A check
// of that chunk repairs these, too. Events before the chunk that were counted twice are left to the doubt about them.
func TestACheckReachesBackOverOffsetsWithoutEvents(t *testing.T) {
	click := func(offset int64) eventlog.Counted {
		return eventlog.Counted{Offset: offset, Event: clickAt(p0, offset, "a")}
	}
	visit := func(offset int64, guid string) eventlog.Counted {
		return eventlog.Counted{Offset: offset, Event: &models.Visit{
			V: 1, ID: fmt.Sprint(offset), SiteID: "shop", GUID: guid, TS: models.Earliest, Features: []string{"blue", "large"},
		}}
	}
	uniques := models.Key{Keyspace: models.Cardinality, Name: "shop", Month: models.Earliest.Month(), Features: models.NewFeatures("blue", "large")}
	f := func(name string, key models.Key, log fewEvents, want ...repair.Excess) {
		t.Run(name, func(t *testing.T) {
			right, m := memstore.New(), memstore.New()
			log.count(t, right, key, 1, eventlog.Span{From: 0, To: 27})
			for _, e := range want {
				log.count(t, right, key, 2, e.Span)
			}
			log.count(t, m, key, 1, eventlog.Span{From: 0, To: 27})  // the zombie
			log.count(t, m, key, 2, eventlog.Span{From: 20, To: 26}) // the owner that was set back to 20
			if _, err := testChecker(m, log).Check(t.Context(), p0, eventlog.Span{From: 24, To: 27}, nil, func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			if got := repair.Excesses(memstore.SortedRows(m.LedgerRows[key]), p0); !slices.Equal(got, want) {
				t.Errorf("off at %v, want %v", got, want)
			}
			if len(m.Counters[key]) == 0 || !maps.Equal(m.Counters[key], right.Counters[key]) {
				t.Errorf("counted %v, want %v", m.Counters[key], right.Counters[key])
			}
		})
	}
	clicks := []eventlog.Counted{click(3), click(24), click(25), click(26)}
	f("no event before", abc, fewEvents{events: clicks})
	f("some of it deleted", abc, fewEvents{events: clicks, deleted: 22}, repair.Excess{Span: eventlog.Span{From: 20, To: 22}, N: 1})
	f("no ids", abc, fewEvents{events: clicks, cut: true}, repair.Excess{Span: eventlog.Span{From: 20, To: 24}, N: 1})
	f("it cannot be read", abc, fewEvents{events: clicks, err: errors.New("no broker")}, repair.Excess{Span: eventlog.Span{From: 20, To: 24}, N: 1})
	f("an event before", abc, fewEvents{events: []eventlog.Counted{click(21), click(24), click(25), click(26)}}, repair.Excess{Span: eventlog.Span{From: 20, To: 22}, N: 1})
	f("a known visitor before", uniques, fewEvents{events: []eventlog.Counted{visit(3, "a"), visit(21, "a"), visit(25, "b")}})
	f("a new visitor before", uniques, fewEvents{events: []eventlog.Counted{visit(3, "a"), visit(21, "c"), visit(25, "b")}}, repair.Excess{Span: eventlog.Span{From: 20, To: 22}, N: 1})
}
