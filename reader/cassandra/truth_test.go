package cassandra_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"footfall/internal/cql/cqltest"
	"footfall/models"
	"footfall/reader/export/exporttest"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
	"footfall/test/harness/statstables"
)

// One schema serves both: Cassandra takes seconds to create it.
func TestAnswers(t *testing.T) {
	plan := models.DefaultPlan()
	cfg := cqltest.Config(t)
	s, tables := openIn(t, cfg, plan)
	r := stats.New(s, "clicks", "visits")
	t.Run("the simulator's truth", func(t *testing.T) {
		p := statstest.Plan(plan)
		statstest.Fill(t, tables, plan, statstest.Events(p, plan))
		statstest.Truth(t, r, p)
		exporttest.Truth(t, r, p)
	})
	t.Run("a ranking of as many values as there may be", func(t *testing.T) { testRanking(t, r, tables) })
	t.Run("a ranking of more links than there may be", func(t *testing.T) { testBusiest(t, r, tables) })
}

func testRanking(t *testing.T, r *stats.Reader, tables statstables.Tables) {
	october := stats.Period{Unit: stats.Month, Start: 1538352000000}
	counts := statstest.Counts{}
	var names []models.Name
	for i := range stats.MaxRanked {
		page := fmt.Sprintf("/shop/category/page-%d.html", i)
		key := models.Key{Keyspace: models.Cardinality, Name: "large", Month: october.Start, Features: models.NewFeatures("", page)}
		counts.Add(key, models.Cell{Counter: models.MonthViews, At: october.Start}, int64(i+1))
		names = append(names, models.Name{List: models.ValuesByMonth, Site: "large", Start: october.Start, Feature: "feature2", Value: page})
	}
	tables.Count(t, counts)
	tables.List(t, names...)
	timed(t, "values listed and ranked", func() {
		top, err := r.SiteTop(t.Context(), stats.TopQuery{Site: "large", Feature: "feature2", Period: october, Metric: stats.Views, Limit: 2})
		want := []stats.Share{{Label: "/shop/category/page-9999.html", Count: 10_000}, {Label: "/shop/category/page-9998.html", Count: 9_999}}
		if err != nil || !top.Complete || top.Values != stats.MaxRanked || !slices.Equal(top.Rows, want) {
			t.Fatalf("%+v, %v; want %v", top, err, want)
		}
	})
}

func testBusiest(t *testing.T, r *stats.Reader, tables statstables.Tables) {
	const day models.Millis = 1538352000000
	counts := statstest.Counts{}
	var names []models.Name
	for i := range 2 * stats.MaxBusiest {
		link := fmt.Sprintf("link-%d", i)
		counts.Add(models.Key{Keyspace: models.URLShortener, Name: link}, models.Cell{Counter: models.DayCounters, At: day}, int64(i+1))
		names = append(names, models.Name{List: models.LinksByDay, Start: day, Value: link})
	}
	tables.Count(t, counts)
	tables.List(t, names...)
	timed(t, "links listed and ranked", func() {
		top, err := r.BusiestLinks(t.Context(), day, 3, []models.NameRange{models.NamesWith("")})
		if err != nil || top.Complete || top.Values != stats.MaxBusiest || len(top.Rows) != 3 || top.Rows[0].Count < stats.MaxBusiest {
			t.Fatalf("%+v, %v; want the busiest of %d", top, err, stats.MaxBusiest)
		}
	})
}

func timed(t *testing.T, what string, do func()) {
	var took []time.Duration
	for range 7 {
		begin := time.Now()
		do()
		took = append(took, time.Since(begin).Round(time.Millisecond))
	}
	slices.Sort(took)
	t.Logf("%s: median %v, best %v, worst %v", what, took[3], took[0], took[6])
}
