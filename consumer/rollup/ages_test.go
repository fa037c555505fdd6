package rollup

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/eventlog"
	"footfall/consumer/rollup/meter"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// sampled is the number of events and the sum of a histogram, or the value of a gauge or counter, over all series.
func sampled(t *testing.T, reg *prometheus.Registry, name string) (n uint64, sum float64) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				n += m.GetHistogram().GetSampleCount()
				sum += m.GetHistogram().GetSampleSum() + m.GetGauge().GetValue()
			}
		}
	}
	return n, sum
}

// An event is as old as it is when its chunk has been written, retries included. Each is observed once: duplicates and dead letters as well, and
// those of a chunk that is written in halves. Until then it waits.
func TestAgesOfEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, reg := memstore.New(), prometheus.NewRegistry()
		o := newOwner(t, m, 100)
		o.metrics, o.splitAbove = meter.New(reg), 1
		o.metrics.Owns(o.waiting())
		written := time.Now()
		time.Sleep(10 * time.Second)
		c := newChunk(false)
		for i, event := range []models.Event{clickAt(p0, 0, "a"), clickAt(p0, 1, "b"), clickAt(p0, 0, "a"), nil, clickAt(p0, 4, "c"), clickAt(p0, 5, "d")} {
			it := eventlog.Item{Partition: p0, Offset: int64(i), Event: event, At: written.Add(time.Duration((i+1)%6) * time.Second)}
			if event == nil {
				it.Dead = &eventlog.DeadLetter{Invalid: &models.Invalid{Reason: models.ReasonBadJSON}}
			}
			o.add(c, it)
		}
		if c.duplicates["clicks"] != 1 || len(c.dead) != 1 || c.events.Len() != 4 {
			t.Fatalf("%d duplicates, %d dead letters and %d events: nothing is tested", c.duplicates["clicks"], len(c.dead), c.events.Len())
		}
		failures := 0
		m.OnApply = func(store.KeyWrite) memstore.Fault { // whole, the chunk is refused until it is split
			if failures++; failures <= splitAfter+1 {
				return memstore.Fault{Err: errors.New("too large for this store"), Lost: true}
			}
			return memstore.Fault{}
		}
		if n, _ := sampled(t, reg, "footfall_event_age_seconds"); n != 0 {
			t.Errorf("%d events are observed before they are counted", n)
		}
		if _, age := sampled(t, reg, "footfall_uncounted_age_seconds"); age != 9 {
			t.Errorf("the first has waited for %v s, want 9", age)
		}
		began := time.Now()
		if err := o.countChunk(t.Context(), c, func(context.Context, map[models.Partition]eventlog.GroupOffset) error { return nil }); err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		if took == 0 || failures <= splitAfter+1 {
			t.Errorf("it took %v, and %d writes: nothing was tried again", took, failures)
		}
		n, sum := sampled(t, reg, "footfall_event_age_seconds")
		if want := 6*(10+took.Seconds()) - (0 + 1 + 2 + 3 + 4 + 5); n != 6 || sum < want-.01 || sum > want+.01 {
			t.Errorf("%d events are %v s old together, want 6 and %v", n, sum, want)
		}
		if _, newest := sampled(t, reg, "footfall_newest_counted_timestamp_seconds"); newest != float64(written.Add(5*time.Second).UnixMilli())/1000 {
			t.Errorf("the newest is of %v", newest)
		}
	})
}

// A partition that lags and of which nothing is read shows since when: at once, also if Kafka answers late or never, and whatever it says later.
func TestAgeOfAPartitionThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var end, asked atomic.Int64
		var answers atomic.Bool
		reg := prometheus.NewRegistry()
		o := newOwner(t, memstore.New(), 100)
		delete(o.partitions, p1)
		o.metrics = meter.New(reg)
		o.metrics.Owns(o.waiting())
		o.bounds = func(context.Context, []models.Partition) (map[models.Partition]eventlog.Span, error) {
			return map[models.Partition]eventlog.Span{p0: {To: end.Load()}}, nil
		}
		o.timeFrom = func(_ context.Context, _ models.Partition, offset int64) (int64, time.Time, error) {
			if !answers.Load() {
				return 0, time.Time{}, errors.New("away")
			}
			asked.Add(1)
			return offset, time.Now().Add(-time.Hour), nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go o.watchLag(ctx)
		want := func(low, high float64) {
			t.Helper()
			if _, age := sampled(t, reg, "footfall_uncounted_age_seconds"); age < low || age > high {
				t.Errorf("the oldest has waited for %v s, want %v to %v", age, low, high)
			}
		}
		time.Sleep(90 * time.Second)
		want(0, 0)
		end.Store(3) // nobody reads it, and Kafka does not tell when it was written
		time.Sleep(10 * time.Second)
		want(9, 11)
		answers.Store(true)
		time.Sleep(10 * time.Second)
		want(3599, 3611)
		if n := asked.Load(); n != 1 {
			t.Errorf("Kafka was asked %d times, want once", n)
		}
	})
}

// What is not written is not observed, and waits.
func TestAgesOfEventsThatAreNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, reg := memstore.New(), prometheus.NewRegistry()
		o := newOwner(t, m, 100)
		o.metrics = meter.New(reg)
		o.metrics.Owns(o.waiting())
		m.OnApply = func(store.KeyWrite) memstore.Fault { return memstore.Fault{Err: errors.New("away"), Lost: true} }
		c := newChunk(false)
		o.add(c, eventlog.Item{Partition: p0, Event: clickAt(p0, 0, "a"), At: time.Now()})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := o.countChunk(ctx, c, nil); err == nil {
			t.Error("it is counted although nothing is written")
		}
		if n, _ := sampled(t, reg, "footfall_event_age_seconds"); n != 0 {
			t.Errorf("%d events are observed", n)
		}
		if _, age := sampled(t, reg, "footfall_uncounted_age_seconds"); age < 60 {
			t.Errorf("the oldest has waited for %v s, want 60", age)
		}
	})
}
