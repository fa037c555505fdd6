package repair

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
	"footfall/models/modelstest"
)

// visitsLog is a log of so many visits on one day of March.
type visitsLog int64

func (l visitsLog) Read(_ context.Context, p models.Partition, s eventlog.Span, _ eventlog.Reach, each func(eventlog.Item)) (eventlog.Reading, error) {
	got := eventlog.Reading{Span: eventlog.Span{From: s.From, To: min(s.To, int64(l))}, Whole: true}
	for offset := got.From; offset < got.To; offset++ {
		each(eventlog.Item{Partition: p, Offset: offset, Event: l.visit(offset)})
	}
	return got, nil
}

func (visitsLog) visit(offset int64) *models.Visit {
	v := modelstest.VisitAt(time.March, 5)
	v.ID = fmt.Sprint(offset)
	return v
}

func testChecker(m store.Store, log eventlog.Reader) *Checker {
	return &Checker{
		Doubter: *NewDoubter(m, NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler)), Plan: models.DefaultPlan(), Reader: log,
		Hasher: eventlog.NewHasher(), Reach: eventlog.Reach{Offsets: 100, Age: time.Hour}, Rechecks: rechecks,
	}
}

// A doubt that could not be checked for long is not settled by the first check that succeeds: late writes have to land first.
func TestLateChecksKeepTheirDistance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		m.Timeout = 5 * time.Second
		c := testChecker(m, visitsLog(2))
		if err := m.NoteDoubt(t.Context(), store.Doubt{Partition: p0, ID: 1, From: 0, To: 2, NotedAt: time.Now()}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		back := time.Now()
		for len(m.OpenDoubts[p0]) > 0 {
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

// A repair may be the first to count a key: its names are listed before.
func TestRepairsListNames(t *testing.T) {
	m := memstore.New()
	c := testChecker(m, visitsLog(1))
	visit := modelstest.VisitAt(time.March, 5)
	site := models.Key{Keyspace: models.Cardinality, Name: visit.SiteID, Month: visit.TS.Month(), Features: models.NewFeatures("", "")}
	name := models.Name{List: models.SitesByMonth, Start: site.Month, Value: site.Name}
	m.ApplyOne(store.KeyWrite{Key: site, Ledger: []store.LedgerRow{{LedgerID: store.LedgerID{Partition: p0, Kind: store.KindMinus, Epoch: 1}, From: 0, To: 1}}})
	m.OnApply = func(w store.KeyWrite) memstore.Fault {
		if !m.Names[name] {
			t.Errorf("%v is counted, but not listed", w.Key)
		}
		return memstore.Fault{}
	}
	note := func() error { return nil }
	if _, err := c.Check(t.Context(), p0, eventlog.Span{From: 0, To: 1}, []models.Key{site}, note); err != nil || m.Writes != 2 {
		t.Errorf("%v, %d writes: nothing was repaired", err, m.Writes)
	}
}
