package sqlite_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"footfall/consumer/store"
	"footfall/embedded/sqlite"
	"footfall/models"
	"footfall/reader/export/exporttest"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
	"footfall/test/harness/statstables"
)

func openStats(t testing.TB, dir string) *sqlite.Stats {
	t.Helper()
	s, err := sqlite.OpenStats(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStats(t *testing.T) {
	statstest.Run(t, func(t *testing.T, plan *models.Plan) (stats.Store, statstest.Tables) {
		dir := t.TempDir()
		db, _ := openPlan(t, dir, plan)
		return openStats(t, dir), statstables.Tables{DB: db, Links: db}
	})
}

func TestStatsOfNoFiles(t *testing.T) {
	if _, err := sqlite.OpenStats(t.Context(), t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want that there is nothing", err)
	}
}

// BenchmarkRanked ranks as many values as there may be.
func BenchmarkRanked(b *testing.B) {
	dir := b.TempDir()
	db, _ := openPlan(b, dir, models.DefaultPlan())
	s := openStats(b, dir)
	month := models.Millis(1538352000000) // October 2018
	keys, writes := make([]models.Key, stats.MaxRanked), make([]store.KeyWrite, stats.MaxRanked)
	for i := range keys {
		page := fmt.Sprintf("/page/%d.html", i)
		keys[i] = models.SiteKey("site1", month, "", page)
		cells := map[models.Cell]int64{{Counter: models.MonthViews, At: month}: int64(i), {Counter: models.MonthUnique, At: month}: 1}
		for d := range 20 {
			cells[models.Cell{Counter: models.DayViews, At: month + models.Millis(d*86_400_000)}] = 1
		}
		writes[i] = store.KeyWrite{Key: models.Key{Keyspace: models.Cardinality, Name: "site1", Month: month, Features: models.NewFeatures("", page)}, Cells: cells}
	}
	for _, err := range db.Apply(b.Context(), writes) {
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		counts, err := s.Ranked(b.Context(), keys, models.MonthViews, stats.Range{From: month, To: month + 86_400_000})
		if err != nil || counts[77] != 77 {
			b.Fatal(counts[77], err)
		}
	}
}

func TestStatsTellTheSimulatorsTruth(t *testing.T) {
	plan, dir := models.DefaultPlan(), t.TempDir()
	db, _ := openPlan(t, dir, plan)
	p := statstest.Plan(plan)
	statstest.Fill(t, statstables.Tables{DB: db, Links: db}, plan, statstest.Events(p, plan))
	r := stats.New(openStats(t, dir), "clicks", "visits")
	statstest.Truth(t, r, p)
	exporttest.Truth(t, r, p)
}
