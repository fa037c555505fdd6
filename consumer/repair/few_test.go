package repair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// deletedLog is a log whose first offsets Kafka has deleted. It counts how often it is read.
type deletedLog struct {
	eventlog.Reader
	below int64
	reads atomic.Int64
}

func (l *deletedLog) Read(ctx context.Context, p models.Partition, s eventlog.Span, r eventlog.Reach, each func(eventlog.Item)) (eventlog.Reading, error) {
	l.reads.Add(1)
	s.From = min(max(s.From, l.below), s.To)
	return l.Reader.Read(ctx, p, s, r, each)
}

// brokenSite puts a key that counted the first two visits twice into a store.
func brokenSite(m *memstore.Memory) models.Key {
	visit := visitsLog(1).visit(0)
	site := models.Key{Keyspace: models.Cardinality, Name: visit.SiteID, Month: visit.TS.Month(), Features: models.NewFeatures("", "")}
	m.ApplyOne(store.KeyWrite{Key: site, Ledger: []store.LedgerRow{owner(p0, 1, 0, 2), owner(p0, 2, 0, 2)}})
	return site
}

// While writes fail, a doubt stays one, and is checked less and less often.
func TestOneDoubtStaysOneWhileWritesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		m.Timeout = 5 * time.Second
		site := brokenSite(m)
		tries := 0
		m.OnApply = func(store.KeyWrite) memstore.Fault {
			tries++
			return memstore.Fault{Err: memstore.Unknown("timeout"), Lost: true}
		}
		c := testChecker(m, visitsLog(2))
		begun := time.Now()
		if err := m.NoteDoubt(t.Context(), store.Doubt{Partition: p0, ID: 1, From: 0, To: 2, Reason: store.DoubtOutcome, NotedAt: begun}); err != nil {
			t.Fatal(err)
		}
		for time.Since(begun) < 20*time.Minute {
			_ = c.checkDoubts(t.Context(), p0, time.Now())
			if n := len(m.OpenDoubts[p0]); n != 1 {
				t.Fatalf("%d doubts after %v", n, time.Since(begun))
			}
			time.Sleep(doubtInterval)
		}
		if tries < 5 || tries > 60 {
			t.Errorf("%d tries in 20 minutes", tries)
		}
		m.OnApply = nil
		for len(m.OpenDoubts[p0]) > 0 && time.Since(begun) < time.Hour {
			if err := c.checkDoubts(t.Context(), p0, time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(doubtInterval)
		}
		if off := Excesses(memstore.SortedRows(m.LedgerRows[site]), p0); len(off) > 0 || len(m.OpenDoubts[p0]) > 0 {
			t.Errorf("off at %v; doubts %v", off, m.OpenDoubts[p0])
		}
	})
}

// Successors of owners that crash again and again leave few doubts, of which each is checked in between, and all are settled in the end.
func TestACrashLoopLeavesFewDoubts(t *testing.T) {
	f := func(pause time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			m := memstore.New()
			m.Timeout = 5 * time.Second
			log := &deletedLog{Reader: visitsLog(2)}
			c := testChecker(m, log)
			d := NewDoubter(m, c.Metrics, c.Logger)
			begun := time.Now()
			for crash := range int64(40) {
				span := eventlog.Span{From: 1000 * crash, To: 1000*crash + 2*MaxChunkSpan}
				if err := d.Note(t.Context(), map[models.Partition]eventlog.Span{p0: span}, store.DoubtPredecessor); err != nil {
					t.Fatal(err)
				}
				time.Sleep(pause)
				if err := c.checkDoubts(t.Context(), p0, time.Now()); err != nil {
					t.Fatal(err)
				}
				if n := len(m.OpenDoubts[p0]); n > 3 {
					t.Fatalf("%d doubts after %d crashes", n, crash+1)
				}
			}
			if log.reads.Load() < 3 {
				t.Errorf("%d checks in %v", log.reads.Load(), time.Since(begun))
			}
			for _, open := range m.OpenDoubts[p0] {
				if open.From == 0 && open.Since.Sub(begun) > time.Second {
					t.Errorf("the doubt since %v is said to be since %v", begun, open.Since)
				}
				if open.To-open.From > MaxChunkSpan || open.Reason != store.DoubtPredecessor {
					t.Errorf("a doubt of %d offsets: %s", open.To-open.From, open.Reason)
				}
			}
			over := time.Now()
			for len(m.OpenDoubts[p0]) > 0 {
				if err := c.checkDoubts(t.Context(), p0, time.Now()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(doubtInterval)
			}
			if took := time.Since(over); took < 10*time.Minute-pause || took > 11*time.Minute {
				t.Errorf("settled %v after the last crash", took)
			}
		})
	}
	f(3 * time.Second) // no owner lives until its predecessor's writes have landed
	f(30 * time.Second)
}

// A doubt whose events are deleted before it is checked stays in the store and is not checked any more. The rest of it is settled.
func TestADoubtWithoutEventsStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		c := testChecker(m, &deletedLog{Reader: visitsLog(9), below: 4})
		noted := time.Now()
		if err := m.NoteDoubt(t.Context(), store.Doubt{Partition: p0, ID: 1, From: 1, To: 9, Reason: store.DoubtLost, Since: noted, NotedAt: noted}); err != nil {
			t.Fatal(err)
		}
		for time.Since(noted) < 20*time.Minute {
			if err := c.checkDoubts(t.Context(), p0, time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(doubtInterval)
		}
		open := m.OpenDoubts[p0]
		if len(open) != 1 || open[0].From != 1 || open[0].To != 4 || open[0].Reason != store.DoubtUnsettled || !open[0].Since.Equal(noted) {
			t.Errorf("doubts %v", open)
		}
	})
}

// referrers is a log of clicks on one link at one time, each of which was referred by another long name.
type referrers int64

func (l referrers) Read(_ context.Context, p models.Partition, s eventlog.Span, _ eventlog.Reach, each func(eventlog.Item)) (eventlog.Reading, error) {
	got := eventlog.Reading{Span: eventlog.Span{From: s.From, To: min(s.To, int64(l))}, Whole: true}
	for offset := got.From; offset < got.To; offset++ {
		name := fmt.Sprintf("%0*d.example", models.MaxReferrer-8, offset)
		each(eventlog.Item{Partition: p, Offset: offset, Event: &models.Click{ShortURL: "abc", IP: "a", ID: name, TS: models.Earliest, Referrer: name}})
	}
	return got, nil
}

// Cassandra takes no request of more than 16 MiB, nor of more than 65,535 statements.
func TestALargeRepairIsSplit(t *testing.T) {
	m := memstore.New()
	const clicks = 16<<20/models.MaxReferrer + 1
	link := models.Key{Keyspace: models.URLShortener, Name: "abc"}
	want := map[models.Cell]int64{}
	_, _ = referrers(clicks).Read(t.Context(), p0, eventlog.Span{To: clicks}, eventlog.Reach{}, func(it eventlog.Item) {
		it.Event.Count([]bool{false}, func(_ models.Key, cell models.Cell, n int64) { want[cell] += n })
	})
	twice := map[models.Cell]int64{}
	for cell, n := range want {
		twice[cell] = 2 * n
	}
	m.ApplyOne(store.KeyWrite{Key: link, Cells: twice, Ledger: []store.LedgerRow{owner(p0, 1, 0, clicks), owner(p0, 2, 0, clicks)}})
	m.OnApply = func(w store.KeyWrite) memstore.Fault {
		bytes := 0
		for cell := range w.Cells {
			bytes += len(cell.Label)
		}
		if bytes > 16<<20 || len(w.Cells)+len(w.Ledger) > 65_535 {
			return memstore.Fault{Err: errors.New("batch too large")}
		}
		return memstore.Fault{}
	}
	c := testChecker(m, referrers(clicks))
	if _, err := c.Check(t.Context(), p0, eventlog.Span{From: 0, To: clicks}, nil, func() error { return nil }); err != nil {
		t.Fatalf("%s", strings.TrimSpace(err.Error()))
	}
	if off := Excesses(memstore.SortedRows(m.LedgerRows[link]), p0); len(off) > 0 || !maps.Equal(m.Counters[link], want) {
		t.Errorf("off at %v; %d cells of %d", off, len(m.Counters[link]), len(want))
	}
}

// meanwhile is a store with which something else happens before a doubt is settled.
type meanwhile struct {
	*memstore.Memory
	do func()
}

func (m *meanwhile) SettleDoubt(ctx context.Context, d store.Doubt) error {
	if do := m.do; do != nil {
		m.do = nil
		do()
	}
	return m.Memory.SettleDoubt(ctx, d)
}

// One process doubts a span while another one, which repairs it, replaces its own doubt by the next one. Each removes what the other has united or
// replaced: a doubt must be left all the same.
func TestADoubtIsLeftIfAnotherProcessUnites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &meanwhile{Memory: memstore.New()}
		m.Timeout = 5 * time.Second
		span := map[models.Partition]eventlog.Span{p0: {From: 3, To: 4}}
		ids := int64(0)
		newID := func() int64 { ids++; return ids }
		repairs, leaves := Doubter{Store: m, NewID: newID}, testChecker(m.Memory, visitsLog(5)).Doubter
		leaves.NewID = newID
		doubt := func() {
			if err := leaves.DoubtOnExit(t.Context(), span); err != nil {
				t.Error(err)
			}
		}
		doubt()
		time.Sleep(6 * time.Second)
		at := m.OpenDoubts[p0][0]
		renew := repairs.Renew(t.Context(), &at)
		for _, m.do = range []func(){nil, doubt} { // before a repair, and after it, in the same millisecond
			if err := renew(); err != nil {
				t.Fatal(err)
			}
			if len(m.OpenDoubts[p0]) == 0 {
				t.Fatal("no doubt is left")
			}
		}
	})
}
