package repair

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
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

// A doubt that is made of two needs all checks of both, after the later of their writes, and it is due with the first. Others stay apart.
func TestUnitedDoubtsNeedAllChecks(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(1_000_000+seconds, 0).UTC() }
	checked := store.Doubt{ID: 1, Partition: p0, From: 10, To: 20, Reason: store.DoubtOutcome, Checks: 2, Since: at(0), NotedAt: at(60), Due: at(660)}
	fresh := store.Doubt{ID: 2, Partition: p0, From: 15, To: 30, Reason: store.DoubtOutcome, Since: at(100), NotedAt: at(100), Due: at(106)}
	both := store.Doubt{Partition: p0, From: 10, To: 30, Reason: store.DoubtOutcome, Since: at(0), NotedAt: at(100), Due: at(106)}
	f := func(a, b store.Doubt, want ...store.Doubt) {
		t.Helper()
		if got := united([]store.Doubt{a, b}); !slices.Equal(got, want) {
			t.Errorf("%+v and %+v make %+v, want %+v", a, b, got, want)
		}
	}
	f(checked, fresh, both)
	f(fresh, checked, both)
	apart := fresh
	apart.From = 21
	f(checked, apart, checked, apart)
	lost := fresh
	lost.Reason = store.DoubtLost
	f(checked, lost, checked, lost)
}

// replicas is a store of which one replica may not answer.
type replicas struct {
	*memstore.Memory
	missing bool
}

func (r *replicas) Confirm(ctx context.Context, keys []models.Key, cells func(int) iter.Seq[models.Cell], found func(int, []store.LedgerRow)) (bool, error) {
	_, err := r.Memory.Confirm(ctx, keys, cells, found)
	return !r.missing, err
}

// A doubt's last check counts only if the writes have landed, and every replica has answered. Without a replica all checks begin again.
func TestChecksThatDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &replicas{Memory: memstore.New()}
		m.Timeout = 5 * time.Second
		c, now := testChecker(m, visitsLog(2)), time.Now()
		if err := m.NoteDoubt(t.Context(), store.Doubt{Partition: p0, ID: 1, To: 2, Checks: len(rechecks) - 1, Since: now.Add(-time.Hour), NotedAt: now, Due: now}); err != nil {
			t.Fatal(err)
		}
		f := func(what string, checks int, due time.Duration) {
			t.Helper()
			if err := c.checkDoubts(t.Context(), p0, time.Now()); err != nil {
				t.Fatal(err)
			}
			open := m.OpenDoubts[p0]
			if len(open) != 1 || open[0].Checks != checks || time.Until(open[0].Due) != due {
				t.Fatalf("%s: doubts %+v, want one that was checked %d times and is due in %v", what, open, checks, due)
			}
			time.Sleep(due)
		}
		f("before the writes can have landed", len(rechecks)-1, m.Timeout+SettleMargin)
		m.missing = true
		f("without a replica", 0, replicaPatience)
		m.missing = false
		f("with all replicas", 1, rechecks[1]-rechecks[0])
	})
}
