package cassandra

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gocql/gocql"

	"footfall/models"
)

// The pages of all reads of visitors' rows that are under way fit into pagesBytes, however long the features are, and with any plan.
func TestPagesOfLongRowsFit(t *testing.T) {
	for features := 1; features <= models.MaxFeatures; features++ {
		names := make([]string, features)
		for i := range names {
			names[i] = fmt.Sprint("f", i)
		}
		plan, err := models.NewPlan(names, models.AllMetrics())
		if err != nil {
			t.Fatal(err)
		}
		for _, inFlight := range []int{1, 8, 256, 10_000} {
			for _, under := range []int{0, features * (models.MaxFeature + 1)} {
				reads := (&Store{plan: plan, inFlight: inFlight}).readsOfRows(under)
				entry := under + features*models.MaxFeature + models.MaxGUID
				if reads < min(inFlight, 10) || reads > inFlight || reads*entriesPerPage*entry > pagesBytes {
					t.Errorf("%d reads of rows at once with %d features, %d in flight", reads, features, inFlight)
				}
			}
		}
	}
}

// No request gets more than a page of long rows, and all entries are found.
func testPagesOfRows(t *testing.T, s *Store) {
	const guids = 30
	var visitors []models.Visitor
	var entries [][]models.First
	for i := range guids {
		visitors = append(visitors, models.Visitor{Site: "pages", Month: models.Earliest.Month(), GUID: fmt.Sprint("g", i)})
		entries = append(entries, nil)
		for n := range models.FullRow {
			entries[i] = append(entries[i], models.First{
				At: models.Position{Topic: "visits", Offset: int64(n)}, Day: models.Earliest.Day(), Of: models.Ways{1, 1, 1},
				Features: []string{strings.Repeat("x", models.MaxFeature), strings.Repeat("y", models.MaxFeature)},
			})
		}
	}
	if err := s.RememberFirsts(t.Context(), visitors, entries); err != nil {
		t.Fatal(err)
	}
	var largest, requests atomic.Int64
	s.Watch(func(_ *gocql.ObservedBatch, query *gocql.ObservedQuery) {
		if query != nil {
			requests.Add(1)
			for rows := largest.Load(); int64(query.Rows) > rows && !largest.CompareAndSwap(rows, int64(query.Rows)); rows = largest.Load() {
			}
		}
	})
	found := 0
	if err := s.Visitors(t.Context(), visitors, func(int, models.First) { found++ }); err != nil || found != guids*models.FullRow {
		t.Errorf("%d entries are read, %v; want %d", found, err, guids*models.FullRow)
	}
	if n := largest.Load(); n > entriesPerPage {
		t.Errorf("%d entries in one of %d requests, want %d at the most", n, requests.Load(), entriesPerPage)
	}
}
