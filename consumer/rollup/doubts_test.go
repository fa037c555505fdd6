package rollup

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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

func newChecker(m Store, log logReader) *checker {
	return &checker{
		store: m, log: log, hasher: newHasher(), reach: reach{100, time.Hour}, number: freshNumber,
		metrics: newMetrics(prometheus.NewRegistry()), logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

func committed(map[string]map[int]int64) error { return nil }

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
			if !slices.ContainsFunc(m.doubts[p0], func(d Doubt) bool { return d.From == 0 && d.To >= 6 }) {
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
		m.onApply = func(KeyWrite) fault { return fault{err: unknown("timeout"), lost: true} }
		m.onTake = func() { ended = true }
		err := o.countChunk(t.Context(), chunkOf(o, p0, "a"), committed)
		if !errors.Is(err, ErrUnknownOutcome) || m.clicks() != 0 || len(m.doubts[p0]) == 0 {
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
	m.apply(KeyWrite{ // a zombie's
		Key: abc, Cells: map[models.Cell]int64{hit: 2},
		Ledger: []LedgerRow{{LedgerID{p0, KindOwner, 99}, 0, 2}},
	})
	before := -1
	m.onApply = func(KeyWrite) fault {
		before = len(m.doubts[p0])
		return fault{}
	}
	audit, err := newChecker(m, clicksLog(2)).audit(t.Context(), m, true, func(string) {})
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
		if err := m.NoteDoubt(t.Context(), Doubt{Partition: p0, ID: 1, From: 0, To: 2, NotedAt: time.Now()}); err != nil {
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
