package export_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"testing"

	"footfall/models"
	"footfall/reader/export"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// large is a month of a site with many values, each of which has a counter for every hour.
type large struct {
	*statstest.Memory
	values int
}

func (l large) Names(_ context.Context, of models.Name, _ models.NameRange) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for i := range l.values {
			if of.Feature == "feature1" || !yield(fmt.Sprintf("/shop/category/product-%d.html", i), nil) {
				return
			}
		}
	}
}

func (l large) Counts(_ context.Context, key models.Key) (out []stats.Count, _ error) {
	for hour := range 744 {
		out = append(out, stats.Count{Metric: models.HourViews, Start: key.Month + models.Millis(hour)*3_600_000, Count: int64(hour)})
	}
	return out, nil
}

// long is a month with many values of each feature, of the longest names that there are.
type long struct{ *statstest.Memory }

func (long) Names(context.Context, models.Name, models.NameRange) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for i := range 9_999 { // as many as could be combined with one other
			random, name := rand.New(rand.NewPCG(uint64(i), 0)), make([]byte, models.MaxFeature) // no format makes it shorter
			for j := range name {
				name[j] = byte('a' + random.IntN(26))
			}
			if !yield(string(name), nil) {
				return
			}
		}
	}
}

func (long) Counts(_ context.Context, key models.Key) ([]stats.Count, error) {
	return []stats.Count{{Metric: models.MonthViews, Start: key.Month, Count: 1}}, nil
}

// watched counts what is written, and the heap meanwhile.
type watched struct {
	bytes, seen int
	peak        uint64
}

func (w *watched) Write(text []byte) (int, error) {
	w.bytes += len(text)
	if w.bytes-w.seen > 256<<10 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		w.peak, w.seen = max(w.peak, m.HeapAlloc), w.bytes
	}
	return len(text), nil
}

// TestAMillionRowsTakeLittleMemory: an export is never whole in memory, in no format, and neither is a ZIP, which is the same for all.
func TestAMillionRowsTakeLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("four exports of a million rows take seconds: make test has them")
	}
	from := stats.New(large{statstest.NewMemory(models.DefaultPlan()), 1350}, "clicks", "visits")
	f := func(name string, format export.Format, write func(*export.Export, *watched) error) {
		t.Helper()
		const most = 50 << 20
		runtime.GC()
		e, err := export.Begin(t.Context(), from, export.What{Site: "s", Month: october}, format, func() {})
		if err != nil {
			t.Fatal(err)
		}
		w := &watched{}
		if err := write(e, w); err != nil || e.Rows() < 1_000_000 || w.peak == 0 || w.peak > most {
			t.Errorf("%s: %d rows, %d bytes, %d MB of heap, %v", name, e.Rows(), w.bytes, w.peak>>20, err)
		}
		t.Logf("%s: %d rows, %d bytes, %d MB of heap at the most", name, e.Rows(), w.bytes, w.peak>>20)
	}
	for _, format := range export.Formats {
		f(string(format), format, func(e *export.Export, w *watched) error { _, err := e.Write(t.Context(), w); return err })
	}
	f("ZIP", export.NDJSON, func(e *export.Export, w *watched) error { return e.Zip(t.Context(), w) })
}

// TestLongNamesTakeLittleMemory: neither their lists, which might be combined, nor a row group's names are without a bound.
func TestLongNamesTakeLittleMemory(t *testing.T) {
	const most = 64 << 20
	plan, err := models.NewPlan([]string{"a", "b", "c", "d", "e", "f"}, models.AllMetrics())
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []export.Format{export.CSV, export.Parquet} {
		runtime.GC()
		e, err := export.Begin(t.Context(), stats.New(long{statstest.NewMemory(plan)}, "clicks", "visits"), export.What{Site: "s", Month: october}, format, func() {})
		if err != nil {
			t.Fatal(err)
		}
		w := &watched{}
		if _, err := e.Write(t.Context(), w); err != nil || e.Rows() != 6*9_999+1 || w.bytes < 50<<20 || w.peak > most {
			t.Errorf("%s: %d rows, %d bytes, %d MB of heap, %v", format, e.Rows(), w.bytes, w.peak>>20, err)
		}
		t.Logf("%s: %d rows, %d bytes, %d MB of heap at the most", format, e.Rows(), w.bytes, w.peak>>20)
	}
}
