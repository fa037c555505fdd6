package stats_test

import (
	"fmt"
	"testing"

	"footfall/models"
	"footfall/reader/stats"
)

func visit(plan *models.Plan, guid, at string, features ...string) models.Event {
	return &models.Visit{V: 1, ID: guid + at, SiteID: "site", GUID: guid, TS: on(at), Features: features, Plan: plan}
}

// visited is a site that two people visited around the end of October 2018, which is a Wednesday.
func visited(plan *models.Plan) []models.Event {
	return []models.Event{
		visit(plan, "ann", "2018-10-28T10", "google.com", "/a"), // a Sunday
		visit(plan, "ann", "2018-10-29T10", "google.com", "/a"),
		visit(plan, "ann", "2018-10-29T11", "google.com", "/b"),
		visit(plan, "bob", "2018-10-31T23", "", "/a"),
		visit(plan, "ann", "2018-11-01T00", "google.com", "/a"),
		visit(plan, "bob", "2018-11-04T23", "bing.com", "/c"),
		visit(plan, "bob", "2018-11-05T00", "bing.com", "/c"),
	}
}

func TestASitesSeries(t *testing.T) {
	m, r := memory(models.DefaultPlan())
	m.Add(visited(nil)...)
	for _, c := range []struct {
		metric   stats.Metric
		by       stats.Unit
		within   stats.Range
		features map[string]string
		want     []stats.Point
	}{
		{stats.Unique, stats.Month, within("2018-10", "2018-12"), nil, points("2018-10", 2, "2018-11", 2)},
		{stats.Unique, stats.Week, within("2018-10-22", "2018-11-12"), nil, points("2018-10-22", 1, "2018-10-29", 2, "2018-11-05", 1)},
		{stats.Unique, stats.Week, within("2018-10-29", "2018-11-05"), nil, points("2018-10-29", 2)}, // kept in October, Thursday to Sunday too
		{stats.Unique, stats.Day, within("2018-10-29", "2018-11-02"), nil, points("2018-10-29", 1, "2018-10-31", 1, "2018-11-01", 1)},
		{stats.Views, stats.Hour, within("2018-10-29T11", "2018-11-01"), nil, points("2018-10-29T11", 1, "2018-10-31T23", 1)},
		{stats.Views, stats.Day, within("2018-10-28", "2018-10-30"), nil, points("2018-10-28", 1, "2018-10-29", 2)},
		{stats.Views, stats.Week, within("2018-10-22", "2018-11-12"), nil, points("2018-10-22", 1, "2018-10-29", 5, "2018-11-05", 1)}, // of days in two months
		{stats.Views, stats.Month, within("2018-10", "2018-12"), nil, points("2018-10", 4, "2018-11", 3)},
		{stats.Views, stats.Month, within("2018-10", "2018-12"), map[string]string{"feature1": "google.com", "feature2": ""}, points("2018-10", 3, "2018-11", 1)},
		{stats.Unique, stats.Month, within("2018-10", "2018-12"), map[string]string{"feature1": "google.com", "feature2": "/a"}, points("2018-10", 1, "2018-11", 1)},
		{stats.Unique, stats.Month, within("2018-10", "2018-12"), map[string]string{"feature2": "/nobody"}, nil},
	} {
		s, err := r.SiteSeries(t.Context(), stats.SeriesQuery{Site: "site", Metric: c.metric, By: c.by, Within: c.within, Features: c.features})
		same(t, fmt.Sprintf("%s by %s in %v of %v", c.metric, c.by, c.within, c.features), collected(t, s.Points, err), c.want)
	}
}

func TestASitesSeriesIsRefused(t *testing.T) {
	_, r := memory(models.DefaultPlan())
	ask := func(metric stats.Metric, by stats.Unit, in stats.Range, features map[string]string) error {
		_, err := r.SiteSeries(t.Context(), stats.SeriesQuery{Site: "site", Metric: metric, By: by, Within: in, Features: features})
		return err
	}
	october := within("2018-10", "2018-11")
	both := map[string]string{"feature1": "google.com", "feature2": "/a"}
	refused[*stats.NotKept](t, "unique by hour", ask(stats.Unique, stats.Hour, october, nil))
	refused[*stats.NotKept](t, "views of a combination", ask(stats.Views, stats.Day, october, both))
	refused[*stats.NotKept](t, "no such feature", ask(stats.Views, stats.Day, october, map[string]string{"feature3": "x"}))
	refused[*stats.NotAligned](t, "weeks of a month", ask(stats.Unique, stats.Week, october, nil))
	refused[*stats.Malformed](t, "no end", ask(stats.Views, stats.Day, stats.Range{From: on("2018-10")}, nil))
	refused[*stats.Malformed](t, "no range", ask(stats.Views, stats.Day, stats.Range{}, nil))
	refused[*stats.TooMuch](t, "eighty centuries", ask(stats.Views, stats.Hour, within("2018-10", "9999-12"), nil))
	refused[*stats.TooMuch](t, "a month too many", ask(stats.Views, stats.Hour, within("2008-10", "2018-11"), nil))
	if err := ask(stats.Views, stats.Hour, within("2008-10", "2018-10"), nil); err != nil {
		t.Errorf("ten years: %v", err)
	}
}

func TestASitesPeriod(t *testing.T) {
	m, r := memory(models.DefaultPlan())
	m.Add(visited(nil)...)
	m.Retire(t, on("2018-11-01"), true)
	for _, c := range []struct {
		period        string
		features      map[string]string
		views, unique int64 // -1: not kept
		final         bool
	}{
		{"2018-10", nil, 4, 2, true},
		{"2018-11", nil, 3, 2, false},
		{"2018-W43", nil, 1, 1, true},
		{"2018-W44", nil, 5, 2, false}, // ends in November
		{"2018-10-31", nil, 1, 1, true},
		{"2018-11-01", nil, 1, 1, false},
		{"2018-12", nil, 0, 0, false},
		{"2018-10", map[string]string{"feature1": "google.com"}, 3, 1, true},
		{"2018-W44", map[string]string{"feature1": "google.com", "feature2": "/a"}, -1, 1, false},
	} {
		s, err := r.Site(t.Context(), "site", period(c.period), c.features)
		if err != nil {
			t.Fatal(err)
		}
		if got := orMinus(s.Views); got != c.views {
			t.Errorf("%s %v: %d views, want %d", c.period, c.features, got, c.views)
		}
		if got := orMinus(s.Unique); got != c.unique || s.Final != c.final {
			t.Errorf("%s %v: %d unique visitors, final %v, want %d, %v", c.period, c.features, got, s.Final, c.unique, c.final)
		}
	}
	s, err := r.SiteSeries(t.Context(), stats.SeriesQuery{Site: "site", Metric: stats.Unique, By: stats.Week, Within: within("2018-10-22", "2018-11-05")})
	for _, p := range collected(t, s.Points, err) {
		if s.Final(p) != (p.Start == on("2018-10-22")) {
			t.Errorf("the week of %v: final %v", p.Start.Time(), s.Final(p))
		}
	}
	_, err = r.Site(t.Context(), "site", stats.Period{Unit: stats.Week, Start: on("2018-11-01")}, nil)
	refused[*stats.Malformed](t, "a week from Thursday", err)
}

func orMinus(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

func TestAnotherPlan(t *testing.T) {
	plan, err := models.NewPlan([]string{"page"}, []string{models.WeekUnique, models.HourViews})
	if err != nil {
		t.Fatal(err)
	}
	m, r := memory(plan)
	m.Add(visit(plan, "ann", "2018-10-29T10", "/a"), visit(plan, "ann", "2018-10-29T11", "/a"), visit(plan, "ann", "2018-11-01T11", "/a"))
	ask := func(metric stats.Metric, by stats.Unit, in stats.Range) (stats.Series, error) {
		return r.SiteSeries(t.Context(), stats.SeriesQuery{Site: "site", Metric: metric, By: by, Within: in, Features: map[string]string{"page": "/a"}})
	}
	s, err := ask(stats.Views, stats.Day, within("2018-10-29", "2018-11-05"))
	same(t, "views by day, of hours", collected(t, s.Points, err), points("2018-10-29", 2, "2018-11-01", 1))
	s, err = ask(stats.Views, stats.Week, within("2018-10-29", "2018-11-05"))
	same(t, "views by week, of hours in two months", collected(t, s.Points, err), points("2018-10-29", 3))
	s, err = ask(stats.Unique, stats.Week, within("2018-10-29", "2018-11-05"))
	same(t, "unique by week", collected(t, s.Points, err), points("2018-10-29", 1))
	_, err = ask(stats.Unique, stats.Day, within("2018-10-29", "2018-11-05"))
	refused[*stats.NotKept](t, "unique by day", err)
	site, err := r.Site(t.Context(), "site", period("2018-10"), nil)
	if err != nil || site.Unique != nil || orMinus(site.Views) != 2 {
		t.Errorf("%+v, %v; want 2 views, and no unique visitors", site, err)
	}
	top, err := r.SiteTop(t.Context(), stats.TopQuery{Site: "site", Feature: "page", Period: period("2018-W44"), Metric: stats.Views})
	if err != nil || len(top.Rows) != 1 || top.Rows[0] != (stats.Share{Label: "/a", Count: 3}) {
		t.Errorf("%+v, %v", top, err)
	}
}
