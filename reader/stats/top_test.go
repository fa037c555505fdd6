package stats_test

import (
	"fmt"
	"testing"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// listed is a value of feature2.
func listed(month models.Millis, value string) models.Name {
	return models.Name{List: models.ValuesByMonth, Site: "site", Start: month, Feature: "feature2", Value: value}
}

func TestTop(t *testing.T) {
	m, r := memory(models.DefaultPlan())
	m.Add(visited(nil)...)
	m.List(t, listed(on("2018-10"), "/listed and never counted"))
	for _, c := range []struct {
		feature, period string
		metric          stats.Metric
		filter          map[string]string
		limit           int
		want            []stats.Share
	}{
		{"feature2", "2018-10", stats.Views, nil, 0, []stats.Share{{Label: "/a", Count: 3}, {Label: "/b", Count: 1}}},
		{"feature2", "2018-10", stats.Views, nil, 1, []stats.Share{{Label: "/a", Count: 3}}},
		{"feature2", "2018-10", stats.Unique, nil, 0, []stats.Share{{Label: "/a", Count: 2}, {Label: "/b", Count: 1}}},
		{"feature1", "2018-10", stats.Views, nil, 0, []stats.Share{{Label: "google.com", Count: 3}}},
		{"feature2", "2018-W44", stats.Views, nil, 0, []stats.Share{{Label: "/a", Count: 3}, {Label: "/b", Count: 1}, {Label: "/c", Count: 1}}}, // of two months
		{"feature2", "2018-W44", stats.Unique, nil, 0, []stats.Share{{Label: "/a", Count: 2}, {Label: "/b", Count: 1}, {Label: "/c", Count: 1}}},
		{"feature2", "2018-11-04", stats.Views, nil, 0, []stats.Share{{Label: "/c", Count: 1}}},
		{"feature2", "2018-10", stats.Unique, map[string]string{"feature1": "google.com"}, 0, []stats.Share{{Label: "/a", Count: 1}, {Label: "/b", Count: 1}}},
		{"feature2", "2018-W44", stats.Unique, map[string]string{"feature1": "bing.com"}, 0, []stats.Share{{Label: "/c", Count: 1}}},
		{"feature1", "2018-10", stats.Unique, map[string]string{"feature2": "/b"}, 0, []stats.Share{{Label: "google.com", Count: 1}}},
		{"feature1", "2017-10", stats.Unique, nil, 0, nil},
	} {
		top, err := r.SiteTop(t.Context(), stats.TopQuery{Site: "site", Feature: c.feature, Period: period(c.period), Metric: c.metric, Features: c.filter, Limit: c.limit})
		if err != nil || !top.Complete {
			t.Errorf("%+v, %v", top, err)
		}
		same(t, fmt.Sprintf("top %s of %s by %s of %v", c.feature, c.period, c.metric, c.filter), top.Rows, c.want)
	}
}

// The unique visitors of a week are in the month of its Monday alone: so are the values that are ranked.
func TestTopOfAWeekAsksOneMonth(t *testing.T) {
	m, r := memory(models.DefaultPlan())
	m.Add(visited(nil)...)
	m.List(t, listed(on("2018-11"), "/november"))
	for metric, want := range map[stats.Metric]int{stats.Unique: 3, stats.Views: 4} {
		top, err := r.SiteTop(t.Context(), stats.TopQuery{Site: "site", Feature: "feature2", Period: period("2018-W44"), Metric: metric})
		if err != nil || top.Values != want {
			t.Errorf("%s: %d values, %v; want %d", metric, top.Values, err, want)
		}
	}
}

func TestTopIsRefused(t *testing.T) {
	_, r := memory(models.DefaultPlan())
	ask := func(feature string, metric stats.Metric, p stats.Period, filter map[string]string) error {
		_, err := r.SiteTop(t.Context(), stats.TopQuery{Site: "site", Feature: feature, Period: p, Metric: metric, Features: filter})
		return err
	}
	refused[*stats.NotKept](t, "views of a combination", ask("feature2", stats.Views, period("2018-10"), map[string]string{"feature1": "google.com"}))
	refused[*stats.NotKept](t, "no such feature", ask("feature3", stats.Views, period("2018-10"), nil))
	refused[*stats.NotKept](t, "unique of an hour", ask("feature2", stats.Unique, stats.PeriodOf(stats.Hour, on("2018-10")), nil))
	refused[*stats.Malformed](t, "a filter by what is ranked", ask("feature2", stats.Unique, period("2018-10"), map[string]string{"feature2": "/a"}))
	refused[*stats.Malformed](t, "no period", ask("feature2", stats.Unique, stats.Period{}, nil))
}

func TestTopOfTooMany(t *testing.T) {
	m, r := memory(models.DefaultPlan())
	for i := range stats.MaxRanked + 5 {
		page := fmt.Sprintf("/%05d", i)
		m.List(t, listed(on("2018-10"), page))
		key := models.Key{Keyspace: models.Cardinality, Name: "site", Month: on("2018-10"), Features: models.NewFeatures("", page)}
		m.Count(t, statstest.Counts{key: {{Counter: models.MonthViews, At: on("2018-10")}: int64(i + 1)}})
	}
	top, err := r.SiteTop(t.Context(), stats.TopQuery{Site: "site", Feature: "feature2", Period: period("2018-10"), Metric: stats.Views, Limit: 2})
	if err != nil || top.Complete || top.Values != stats.MaxRanked {
		t.Errorf("complete %v of %d, %v; want that there are more", top.Complete, top.Values, err)
	}
	same(t, "of the first", top.Rows, []stats.Share{{Label: "/09999", Count: 10_000}, {Label: "/09998", Count: 9_999}})
}
