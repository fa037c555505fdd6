package repair

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
	"footfall/models/modelstest"
)

// manyVisits is a log of visits of six features, each of a visitor of its own.
type manyVisits struct {
	plan  *models.Plan
	long  int64
	meter *peak
}

func (l manyVisits) Read(_ context.Context, p models.Partition, s eventlog.Span, _ eventlog.Reach, each func(eventlog.Item)) (eventlog.Reading, error) {
	got := eventlog.Reading{Span: eventlog.Span{From: s.From, To: min(s.To, l.long)}, Whole: true}
	for i := got.From; i < got.To; i++ {
		v := modelstest.VisitAt(3, 5)
		v.Plan, v.ID, v.GUID, v.TS, v.Features = l.plan, fmt.Sprint(i), fmt.Sprint(i), v.TS+models.Millis(i*100), sixFeatures(i)
		each(eventlog.Item{Partition: p, Offset: i, Event: v, Bytes: 300})
		l.meter.look()
	}
	return got, nil
}

func sixFeatures(offset int64) (features []string) {
	for feature := range int64(models.MaxFeatures) {
		features = append(features, strconv.FormatInt(offset%(2+feature), 10))
	}
	return features
}

// peak is the largest heap that was seen.
type peak struct{ seen, looks uint64 }

func (p *peak) look() {
	if p.looks++; p.looks%256 == 0 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		p.seen = max(p.seen, m.HeapAlloc)
	}
}

// offForAll is a store in which one key counted everything twice. Each visitor's first visit is the only one.
type offForAll struct {
	*memstore.Memory
	off      models.Key
	repaired map[string]int64 // by counter
	meter    *peak
}

func (o offForAll) Confirm(_ context.Context, keys []models.Key, _ func(int) iter.Seq[models.Cell], found func(int, []store.LedgerRow)) (bool, error) {
	o.meter.look()
	if i := slices.Index(keys, o.off); i >= 0 {
		found(i, []store.LedgerRow{owner(p0, 1, 0, 1<<20), owner(p0, 2, 0, 1<<20)})
	}
	return true, nil
}

func (o offForAll) Visitors(_ context.Context, visitors []models.Visitor, found func(int, models.First)) error {
	all := models.Subsets(1<<models.MaxFeatures - 1)
	for i, v := range visitors {
		if o.meter.look(); v.Under == "" {
			offset, _ := strconv.ParseInt(v.GUID, 10, 64)
			found(i, models.First{
				At:  models.Position{Topic: p0.Topic, Partition: p0.Number, Offset: offset},
				Day: modelstest.VisitAt(3, 5).TS.Day(), Features: sixFeatures(offset), Of: models.Ways{all, all, all},
			})
		}
	}
	return nil
}

func (o offForAll) Apply(_ context.Context, writes []store.KeyWrite) []error {
	o.meter.look()
	for _, w := range writes {
		for cell, n := range w.Cells {
			o.repaired[cell.Counter] -= n
		}
	}
	return make([]error, len(writes))
}

// TestRepairsTakeLittleMemory: a check of visits with as many features as there may be, of which the key of the whole site is off.
func TestRepairsTakeLittleMemory(t *testing.T) {
	const visits, most = 1500, 40 << 20
	plan, err := models.NewPlan([]string{"a", "b", "c", "d", "e", "f"}, models.AllMetrics())
	if err != nil {
		t.Fatal(err)
	}
	meter := &peak{}
	site := models.Key{Keyspace: models.Cardinality, Name: "site", Month: modelstest.VisitAt(3, 5).TS.Month(), Features: models.NewFeatures("", "", "", "", "", "")}
	db := offForAll{memstore.New(), site, map[string]int64{}, meter}
	c := testChecker(db, manyVisits{plan, 2 * visits, meter})
	c.Plan, c.Bytes = plan, 4<<20
	held := 0
	c.Holds = func(bytes int) { held = max(held, bytes) }
	runtime.GC()
	f, err := c.Check(t.Context(), p0, eventlog.Span{From: visits, To: 2 * visits}, nil, func() error { return nil })
	if err != nil || !f.complete {
		t.Fatalf("%+v, %v", f, err)
	}
	for _, counter := range []string{models.MonthUnique, models.DayUnique, models.MonthViews, models.HourViews} {
		if db.repaired[counter] != visits {
			t.Errorf("%s: %d taken out, want %d", counter, db.repaired[counter], visits)
		}
	}
	if held == 0 || held > c.Bytes {
		t.Errorf("%d bytes were held at once, want %d at the most", held, c.Bytes)
	}
	if meter.seen == 0 || meter.seen > most {
		t.Errorf("%d MB of heap, want %d at the most", meter.seen>>20, most>>20)
	}
	t.Logf("%d MB of heap at the most", meter.seen>>20)
}
