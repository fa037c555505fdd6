package export_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"footfall/models"
	"footfall/reader/export"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// TestAnExportInDoubtIsNotExact, whenever the doubt was opened: what is below counted_before may still be corrected, although both offsets
// are equal.
func TestAnExportInDoubtIsNotExact(t *testing.T) {
	f := func(what string, at models.Millis, before, meanwhile bool, want export.Log) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) { inDoubt(t, what, at, before, meanwhile, want) })
	}
	f("none", october, false, false, export.Log{Exact: true})
	f("one before it", october, true, false, export.Log{DoubtsBefore: 1, DoubtsAfter: 1})
	f("one while it is read", october, false, true, export.Log{DoubtsAfter: 1})
	november := stats.Month.End(october)
	f("of no rows", november, false, false, export.Log{Exact: true})
	f("of no rows, one before it", november, true, false, export.Log{DoubtsBefore: 1, DoubtsAfter: 1})
	f("of no rows, one while it is read", november, false, true, export.Log{DoubtsAfter: 1})
}

// inDoubt exports a site's month, of which doubts are open, while a consumer goes on noting where it is.
func inDoubt(t *testing.T, what string, at models.Millis, before, meanwhile bool, want export.Log) {
	partition := models.Partition{Topic: "visits"}
	store := statstest.NewMemory(models.DefaultPlan())
	store.Add(visit("s", "g", october, "", ""))
	note := func() {
		at := time.Now()
		store.Note(t, stats.Progress{Partition: partition, Counted: 110, LogEnd: 110, EventTime: at, At: at})
	}
	note()
	r := stats.New(store, "clicks", "visits")
	if _, err := r.Sites(t.Context(), october, []models.NameRange{models.NamesWith("")}); err != nil { // it knows of no doubt, and that for a second
		t.Fatal(err)
	}
	if before {
		store.Doubt(t, partition, 100)
	}
	e, err := export.Begin(t.Context(), r, export.What{Site: "s", Month: at}, export.CSV, note)
	if err != nil {
		t.Fatal(err)
	}
	if meanwhile {
		store.Doubt(t, partition, 100)
		store.Doubt(t, models.Partition{Topic: "clicks"}, 100) // of others
	}
	m, err := e.Write(t.Context(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Log; got.Exact != want.Exact || got.DoubtsBefore != want.DoubtsBefore || got.DoubtsAfter != want.DoubtsAfter || m.AsOf.Doubts != want.DoubtsBefore ||
		strings.Contains(got.Reason, "doubt") == got.Exact || *got.Partitions[0].Below != 110 || got.Partitions[0].CountedBefore != 110 {
		t.Errorf("%s: %+v, as of %+v; want %+v", what, got, m.AsOf, want)
	}
	if !bytes.Contains(m.JSON(), []byte(`"doubts_after": `)) {
		t.Errorf("%s: the manifest does not tell", what)
	}
}
