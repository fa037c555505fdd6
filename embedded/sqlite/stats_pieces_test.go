package sqlite_test

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"footfall/embedded/sqlite"
	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
	"footfall/test/harness/statstables"
)

// TestLongLists: a list that is read in pieces has each row once, and a client that is in the midst of one does not keep SQLite from
// emptying its log, which would grow with every write.
func TestLongLists(t *testing.T) {
	const n = 2*sqlite.PieceRows + 1
	now := models.Millis(time.Now().UnixMilli())
	day, month := now.Day(), now.Month()
	dir := t.TempDir()
	db, _ := openPlan(t, dir, models.DefaultPlan())
	s, to := openStats(t, dir), statstables.Tables{DB: db, Links: db}
	var names []models.Name
	referrers, clicks := map[models.Cell]int64{}, []models.LatestClick(nil)
	for i := range n {
		name := fmt.Sprint("name", i)
		names = append(names, models.Name{List: models.LinksByDay, Start: day, Value: name}, models.Name{List: models.SitesByMonth, Start: month, Value: name},
			models.Name{List: models.ValuesByMonth, Start: month, Site: "site", Feature: "feature1", Value: name})
		referrers[models.Cell{Counter: models.ReferrerCounters, Label: name[:len(name)*min(i, 1)]}] = 1 // the first is a direct click
		referrers[models.Cell{Counter: models.ReferrerMonths, At: month, Label: name[:len(name)*min(i, 1)]}] = 1
		c := &models.Click{ID: name, ShortURL: "abc", TS: max(day, now-models.Millis(i/3))}
		clicks = append(clicks, c.Latest(models.Position{Offset: int64(i)}))
	}
	to.List(t, names...)
	to.Count(t, statstest.Counts{{Keyspace: models.URLShortener, Name: "abc"}: referrers})
	to.Keep(t, clicks...)

	labels := func(shares iter.Seq2[stats.Share, error]) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for share, err := range shares {
				if !yield(share.Label, err) {
					return
				}
			}
		}
	}
	f := func(what, database string, list iter.Seq2[string, error]) {
		t.Helper()
		next, stop := iter.Pull2(list)
		defer stop()
		seen := map[string]bool{}
		for {
			name, err, more := next()
			if !more {
				break
			}
			if err != nil || seen[name] {
				t.Fatalf("%s: %q a second time, or %v", what, name, err)
			}
			if seen[name] = true; len(seen) == 1 {
				if busy, err := sqlite.Checkpoint(db, database); err != nil || busy {
					t.Errorf("%s: the log cannot be emptied meanwhile: %v", what, err)
				}
			}
		}
		if len(seen) != n {
			t.Errorf("%s: %d rows, want %d", what, len(seen), n)
		}
	}
	f("links", "urlshortener", s.Names(t.Context(), models.Name{List: models.LinksByDay, Start: day}, models.NamesWith("")))
	f("sites", "cardinality", s.Names(t.Context(), models.Name{List: models.SitesByMonth, Start: month}, models.NamesWith("")))
	f("values", "cardinality", s.Names(t.Context(), models.Name{List: models.ValuesByMonth, Start: month, Site: "site", Feature: "feature1"}, models.NamesWith("")))
	f("referrers", "urlshortener", labels(s.Shares(t.Context(), "abc", models.ReferrerCounters, stats.Range{})))
	f("referrers of a month", "urlshortener", labels(s.Shares(t.Context(), "abc", models.ReferrerMonths, stats.PeriodOf(stats.Month, month).Range())))
	f("latest clicks", "urlshortener", func(yield func(string, error) bool) {
		for c, err := range s.Latest(t.Context(), "abc", day) {
			if !yield(c.ID, err) {
				return
			}
		}
	})
}
