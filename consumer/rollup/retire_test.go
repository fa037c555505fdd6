package rollup

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
	"footfall/models/modelstest"
)

var visits0 = models.Partition{Topic: "visits", Number: 0}

// Visits that were counted before a retirement are left out when they are read again, however late the consumer learns of the
// retirement. Visits that came after it are dead letters.
func TestOldVisitsAreNotCountedAgain(t *testing.T) {
	m := memstore.New()
	o := newOwner(t, m, 0)
	o.retirements = eventlog.NewRetirementWatcher(m, o.log)
	o.partitions[visits0] = &owned{window: eventlog.NewWindow(eventlog.Reach{Offsets: 100, Age: time.Hour}, 0), highWater: 100}
	done := []store.Retirement{{Before: modelstest.April, Topic: "visits", From: map[int]int64{0: 2}, Done: true}}
	march := func(offset int64) eventlog.Item {
		v := modelstest.VisitAt(time.March, 5)
		v.ID = fmt.Sprint(offset)
		return eventlog.Item{Partition: visits0, Offset: offset, Event: v, Value: []byte("bytes")}
	}
	chunkOf := func() *chunk {
		c := newChunk(false)
		for offset := range int64(3) {
			it := march(offset)
			if err := o.retirements.Await(t.Context(), it.Event); err != nil {
				t.Fatal(err)
			}
			o.add(c, it)
		}
		return c
	}
	c := chunkOf() // nothing is retired
	if c.events.Len() != 3 || len(c.dead) != 0 {
		t.Fatalf("%d events, %d dead", c.events.Len(), len(c.dead))
	}
	o.lookAhead(t.Context(), c)
	m.Told.Retirements = done
	if err := o.retirements.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	flush(t, o, c) // the retirement was done while the chunk was under way
	if c.events.Len() != 1 || firstOffset(c) != 2 {
		t.Errorf("left after the flush: %d events", c.events.Len())
	}
	key := models.Key{Keyspace: models.Cardinality, Name: "site", Month: modelstest.VisitAt(time.March, 5).TS.Month(), Features: models.NewFeatures("", "")}
	if views := m.Counters[key][models.Cell{Counter: models.MonthViews, At: key.Month}]; views != 1 {
		t.Errorf("%d views, want that of the visit which came later", views)
	}
	o.partitions[visits0].window = eventlog.NewWindow(eventlog.Reach{Offsets: 100, Age: time.Hour}, 0)
	c = chunkOf()
	if c.events.Len() != 0 || len(c.dead) != 1 {
		t.Fatalf("%d events, %d dead", c.events.Len(), len(c.dead))
	}
	flush(t, o, c)
	for outcome, want := range map[string]float64{"read": 6, "applied": 1, "duplicate": 0, "invalid": 1, "retired": 4} {
		if got := testutil.ToFloat64(o.metrics.Events.WithLabelValues("visits", outcome)); got != want {
			t.Errorf("%v events are %s, want %v", got, outcome, want)
		}
	}
	letter := c.dead[0].Encode(eventlog.MaxDeadBytes)
	if string(letter.Key) != "site|guid" || string(letter.Value) != "bytes" || string(letter.Headers[0].Value) != "interval_retired" {
		t.Errorf("dead letter %+v", letter)
	}
}

// A retirement is done, and rows may be gone, while a chunk is planned, which may take long: retired visits are not written.
func TestRetiredWhilePlanning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		o := newOwner(t, m, 0)
		o.retirements = eventlog.NewRetirementWatcher(m, o.log)
		o.partitions[visits0] = &owned{window: eventlog.NewWindow(eventlog.Reach{Offsets: 100, Age: time.Hour}, 0), highWater: 100}
		c := newChunk(false)
		for offset := range int64(3) {
			v := modelstest.VisitAt(time.March, 5)
			v.ID = fmt.Sprint(offset)
			o.add(c, eventlog.Item{Partition: visits0, Offset: offset, Event: v})
		}
		o.landedBy = time.Now().Add(2 * store.NoticeAge)
		time.AfterFunc(store.NoticeAge, func() {
			m.Mu.Lock()
			defer m.Mu.Unlock()
			m.Told.Retirements = []store.Retirement{{Before: modelstest.April, Topic: "visits", From: map[int]int64{0: 2}, Done: true}}
		})
		flush(t, o, c)
		key := models.Key{Keyspace: models.Cardinality, Name: "site", Month: modelstest.VisitAt(time.March, 5).TS.Month(), Features: models.NewFeatures("", "")}
		if views := m.Counters[key][models.Cell{Counter: models.MonthViews, At: key.Month}]; views != 1 {
			t.Errorf("%d views, want that of the visit which came later", views)
		}
	})
}

// A visitor whose rows were removed by consumer forget is dropped from the cache, too.
func TestForgottenVisitorsAreNew(t *testing.T) {
	m := memstore.New()
	o := newOwner(t, m, 100)
	o.retirements = eventlog.NewRetirementWatcher(m, o.log)
	if err := o.retirements.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	flush(t, o, chunkOf(o, p0, "a", "b"))
	wantCounts(t, m, 2, 2)
	clear(m.First)
	flush(t, o, chunkOf(o, p0, "a"))
	wantCounts(t, m, 3, 2) // there was no notice
	m.Told.Forgotten = "once"
	if err := o.retirements.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	flush(t, o, chunkOf(o, p0, "a", "b", "a"))
	wantCounts(t, m, 6, 4)
	lookups := m.Lookups
	flush(t, o, chunkOf(o, p0, "a"))
	if wantCounts(t, m, 7, 4); m.Lookups != lookups {
		t.Error("the cache is emptied again for the same notice")
	}
}

func firstOffset(c *chunk) int64 {
	for _, e := range c.events.All() {
		return e.Offset
	}
	return -1
}
