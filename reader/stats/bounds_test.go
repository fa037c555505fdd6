package stats_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// lists counts the names that are read from the lists of a store.
type lists struct {
	*statstest.Memory
	read int
}

var all = []models.NameRange{models.NamesWith("")}

func (l *lists) counting(names iter.Seq2[string, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for name, err := range names {
			l.read++
			if !yield(name, err) {
				return
			}
		}
	}
}

func (l *lists) Names(ctx context.Context, of models.Name, within models.NameRange) iter.Seq2[string, error] {
	return l.counting(l.Memory.Names(ctx, of, within))
}

// A list may have a million names: those that are not ranked are not read, only to be counted.
func TestRankingsReadNoMoreNamesThanTheyRank(t *testing.T) {
	l := &lists{Memory: statstest.NewMemory(models.DefaultPlan())}
	r := stats.New(l, "clicks", "visits")
	for i := range stats.MaxRanked + 50 {
		name := fmt.Sprintf("%05d", i)
		l.List(t, models.Name{List: models.LinksByDay, Start: someDay, Value: name}, models.Name{List: models.SitesByMonth, Start: someDay, Value: name},
			models.Name{List: models.ValuesByMonth, Site: "site", Start: someDay, Feature: "feature2", Value: name})
	}
	f := func(what string, most int, ask func() (stats.Top, error)) {
		t.Helper()
		l.read = 0
		if top, err := ask(); err != nil || top.Complete || top.Values != most || l.read > most+1 {
			t.Errorf("%s: %d of them, complete %v, %d names read, %v; want %d, and that there are more", what, top.Values, top.Complete, l.read, err, most)
		}
	}
	f("links", stats.MaxBusiest, func() (stats.Top, error) { return r.BusiestLinks(t.Context(), someDay, 3, all) })
	f("sites", stats.MaxBusiest, func() (stats.Top, error) { return r.BusiestSites(t.Context(), someDay, stats.Unique, 3, all) })
	f("values", stats.MaxRanked, func() (stats.Top, error) {
		return r.SiteTop(t.Context(), stats.TopQuery{Site: "site", Feature: "feature2", Period: period("2018-10"), Metric: stats.Views})
	})
}

// Long names are ranked up to a number of bytes: many may ask at once.
func TestRankingsOfLongNames(t *testing.T) {
	m, r := memory(models.DefaultPlan())
	for i := range 2 * stats.MaxRankedBytes / models.MaxFeature {
		m.List(t, listed(on("2018-10"), fmt.Sprintf("%0*d", models.MaxFeature, i)))
	}
	top, err := r.SiteTop(t.Context(), stats.TopQuery{Site: "site", Feature: "feature2", Period: period("2018-10"), Metric: stats.Views})
	if err != nil || top.Complete || top.Values != stats.MaxRankedBytes/models.MaxFeature {
		t.Errorf("%d values of a KB are ranked, complete %v: %v", top.Values, top.Complete, err)
	}
}

// A week over two months has a value once, in whichever of them it is listed, and however many there are.
func TestValuesOfAWeekOverTwoMonths(t *testing.T) {
	m, r := memory(models.DefaultPlan())
	ask := func() stats.Top {
		t.Helper()
		top, err := r.SiteTop(t.Context(), stats.TopQuery{Site: "site", Feature: "feature2", Period: period("2018-W44"), Metric: stats.Views, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		return top
	}
	count := func(page string, october, november int64) {
		for day, n := range map[string]int64{"2018-10-31": october, "2018-11-01": november} {
			m.List(t, listed(on(day).Month(), page))
			key := models.Key{Keyspace: models.Cardinality, Name: "site", Month: on(day).Month(), Features: models.NewFeatures("", page)}
			m.Count(t, statstest.Counts{key: {{Counter: models.DayViews, At: on(day)}: n}})
		}
	}
	for i := range stats.MaxRanked {
		m.List(t, listed(on("2018-10"), fmt.Sprintf("/%05d", i)), listed(on("2018-11"), fmt.Sprintf("/%05d", i)))
	}
	count("/00007", 1, 5)
	count("/00008", 2, 3)
	want := []stats.Share{{Label: "/00007", Count: 6}, {Label: "/00008", Count: 5}}
	if top := ask(); !top.Complete || top.Values != stats.MaxRanked {
		t.Errorf("complete %v of %d, want all %d", top.Complete, top.Values, stats.MaxRanked)
	}
	same(t, "all", ask().Rows, want)
	count("/10000", 1, 1)
	count("/10001", 1, 1)
	if top := ask(); top.Complete || top.Values != stats.MaxRanked {
		t.Errorf("complete %v of %d, want that there are more than %d", top.Complete, top.Values, stats.MaxRanked)
	}
	same(t, "of the first", ask().Rows, want)
}

// Whoever may see few of many names gets those, and nobody else's are read.
func TestRankingsReadOnlyWhatMayBeSeen(t *testing.T) {
	l := &lists{Memory: statstest.NewMemory(models.DefaultPlan())}
	r := stats.New(l, "clicks", "visits")
	var names []models.Name
	for i := range 100_100 {
		names = append(names, models.Name{List: models.LinksByDay, Start: someDay, Value: fmt.Sprintf("%06d", i)})
	}
	l.List(t, append(names, models.Name{List: models.LinksByDay, Start: someDay, Value: "mine"}, models.Name{List: models.LinksByDay, Start: someDay, Value: "promo1"})...)
	l.Add(&models.Click{ShortURL: "promo1", IP: "1", TS: someDay})
	l.read = 0
	top, err := r.BusiestLinks(t.Context(), someDay, 3, []models.NameRange{{From: "mine", To: "mine"}, models.NamesWith("promo")})
	if err != nil || !top.Complete || top.Values != 2 || len(top.Rows) != 1 || l.read != 2 {
		t.Errorf("%+v, %d names read, %v; want promo1", top, l.read, err)
	}
}

// Rankings are kept for others who ask: the first rows must not hold the memory of all that were ranked.
func TestFirstRowsTakeNoMoreMemoryThanTheyNeed(t *testing.T) {
	const limit = 10
	m, r := memory(models.DefaultPlan())
	for i := range stats.MaxBusiest {
		name := fmt.Sprint("name", i)
		m.Add(&models.Click{ShortURL: name, IP: "1", TS: someDay}, &models.Visit{SiteID: name, GUID: "g", TS: someDay, Features: []string{"", ""}},
			&models.Visit{SiteID: "site", GUID: "g", TS: someDay, Features: []string{"", name}})
	}
	f := func(what string, ask func() (stats.Top, error)) {
		t.Helper()
		if top, err := ask(); err != nil || len(top.Rows) != limit || cap(top.Rows) > 2*limit {
			t.Errorf("%s: %d rows in the memory of %d, %v; want %d", what, len(top.Rows), cap(top.Rows), err, limit)
		}
	}
	f("links", func() (stats.Top, error) { return r.BusiestLinks(t.Context(), someDay, limit, all) })
	f("sites", func() (stats.Top, error) { return r.BusiestSites(t.Context(), someDay, stats.Views, limit, all) })
	f("values", func() (stats.Top, error) {
		return r.SiteTop(t.Context(), stats.TopQuery{Site: "site", Feature: "feature2", Period: period("2018-10"), Metric: stats.Views, Limit: limit})
	})
}
