package statstest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"footfall/models"
	"footfall/reader/stats"
)

func key(site, month string, features ...string) models.Key {
	return models.SiteKey(site, at(month), features...)
}

func testVisits(t *testing.T, s stats.Store, tables Tables) {
	tables.Count(t, Counts{key("visited", "2018-10-01", "", ""): {
		{Counter: models.MonthUnique, At: at("2018-10-01")}: 7, {Counter: models.WeekUnique, At: at("2018-10-29")}: 6,
		{Counter: models.WeekUnique, At: at("2018-10-01")}: 5, {Counter: models.DayUnique, At: at("2018-10-31")}: 4,
		{Counter: models.HourViews, At: at("2018-10-31T23")}: 3, {Counter: models.HourViews, At: at("2018-10-31T00")}: 2,
	}})
	tables.Count(t, Counts{key("visited", "2018-10-01", "google.com", ""): {{Counter: models.MonthUnique, At: at("2018-10-01")}: 1}})
	tables.Count(t, Counts{key("visited", "2018-10-01", "", "google.com"): {{Counter: models.MonthUnique, At: at("2018-10-01")}: 2}})
	read := func(k models.Key, metric string, r stats.Range) []stats.Point {
		t.Helper()
		return collect(t, s.Points(t.Context(), k, metric, r))
	}
	all := key("visited", "2018-10-01", "", "")
	same(t, "month", read(all, models.MonthUnique, stats.Range{}), point("2018-10-01", 7))
	same(t, "weeks", read(all, models.WeekUnique, stats.Range{}), point("2018-10-01", 5), point("2018-10-29", 6))
	same(t, "one week", read(all, models.WeekUnique, within("2018-10-29", "2018-11-05")), point("2018-10-29", 6))
	same(t, "day", read(all, models.DayUnique, within("2018-10-31", "2018-11-01")), point("2018-10-31", 4))
	same(t, "hours", read(all, models.HourViews, stats.Range{}), point("2018-10-31T00", 2), point("2018-10-31T23", 3))
	same(t, "half-open hours", read(all, models.HourViews, within("2018-10-31T00", "2018-10-31T23")), point("2018-10-31T00", 2))
	same(t, "no views of a day", read(all, models.DayViews, stats.Range{}))
	same(t, "first feature", read(key("visited", "2018-10-01", "google.com", ""), models.MonthUnique, stats.Range{}), point("2018-10-01", 1))
	same(t, "second feature", read(key("visited", "2018-10-01", "", "google.com"), models.MonthUnique, stats.Range{}), point("2018-10-01", 2))
	counts, err := s.Counts(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(counts, func(a, b stats.Count) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Metric, b.Metric))
	})
	same(t, "all counters of a key", counts, stats.Count{Metric: models.MonthUnique, Start: at("2018-10-01"), Count: 7},
		stats.Count{Metric: models.WeekUnique, Start: at("2018-10-01"), Count: 5}, stats.Count{Metric: models.WeekUnique, Start: at("2018-10-29"), Count: 6},
		stats.Count{Metric: models.DayUnique, Start: at("2018-10-31"), Count: 4}, stats.Count{Metric: models.HourViews, Start: at("2018-10-31T00"), Count: 2},
		stats.Count{Metric: models.HourViews, Start: at("2018-10-31T23"), Count: 3})
	if none, err := s.Counts(t.Context(), key("visited", "2018-11-01", "", "")); err != nil || len(none) > 0 {
		t.Errorf("another month has %v, %v", none, err)
	}
	same(t, "another month", read(key("visited", "2018-11-01", "", ""), models.MonthUnique, stats.Range{}))
}

func testRanked(t *testing.T, s stats.Store, tables Tables) {
	const n = 1203 // no multiple of any size of a request
	var keys []models.Key
	var want []int64
	cells := Counts{}
	for i := range n {
		page := fmt.Sprintf("/page/%d", i)
		keys, want = append(keys, key("ranked", "2018-10-01", "", page)), append(want, 0)
		if i%3 == 0 {
			continue // not counted
		}
		cells[key("ranked", "2018-10-01", "", page)] = map[models.Cell]int64{
			{Counter: models.DayViews, At: at("2018-10-30")}: 100, {Counter: models.DayViews, At: at("2018-10-31")}: int64(i),
			{Counter: models.DayUnique, At: at("2018-10-31")}: 1_000_000,
		}
		want[i] = int64(i)
	}
	tables.Count(t, cells)
	got, err := s.Ranked(t.Context(), keys, models.DayViews, within("2018-10-31", "2018-11-01"))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("one day: %d counts, %v; want those of %d keys, in their order", len(got), err, len(keys))
	}
	for i, c := range want {
		if c > 0 {
			want[i] += 100
		}
	}
	slices.Reverse(keys)
	slices.Reverse(want)
	if got, err = s.Ranked(t.Context(), keys, models.DayViews, within("2018-10-29", "2018-11-05")); err != nil || !slices.Equal(got, want) {
		t.Errorf("two days: %d counts, %v; want the sums", len(got), err)
	}
	if got, err = s.Ranked(t.Context(), nil, models.DayViews, within("2018-10-29", "2018-11-05")); err != nil || len(got) != 0 {
		t.Errorf("no keys: %v, %v", got, err)
	}
	same(t, "the same key twice, and sites and months mixed", first(s.Ranked(t.Context(), []models.Key{
		key("ranked", "2018-10-01", "", "/page/1"), key("ranked", "2018-11-01", "", "/page/1"), key("ranked", "2018-10-01", "", "/page/1"),
		key("other", "2018-10-01", "", "/page/1"), key("ranked", "2018-10-01", "", "/page/2"),
	}, models.DayUnique, within("2018-10-31", "2018-11-01"))), 1_000_000, 0, 1_000_000, 0, 1_000_000)
}

// testRankedSites: keys may differ in their sites as well as in a feature.
func testRankedSites(t *testing.T, s stats.Store, tables Tables) {
	cells := Counts{}
	var keys []models.Key
	var want []int64
	for i := range 173 {
		site := fmt.Sprintf("ranked site %d", i)
		cells[key(site, "2018-10-01", "", "")] = map[models.Cell]int64{{Counter: models.MonthViews, At: at("2018-10-01")}: int64(i + 1)}
		keys, want = append(keys, key(site, "2018-10-01", "", "")), append(want, int64(i+1))
	}
	tables.Count(t, cells)
	same(t, "sites", first(s.Ranked(t.Context(), keys, models.MonthViews, within("2018-10-01", "2018-11-01"))), want...)
}

func first(counts []int64, err error) []int64 {
	if err != nil {
		return nil
	}
	return counts
}

func testOtherPlan(t *testing.T, s stats.Store, tables Tables) {
	tables.Count(t, Counts{key("planned", "2018-10-01", "/a", "", "IT"): {{Counter: models.DayUnique, At: at("2018-10-02")}: 3}})
	tables.Count(t, Counts{key("planned", "2018-10-01", "", "", ""): {{Counter: models.HourViews, At: at("2018-10-02T14")}: 4}})
	tables.List(t, valueIn("planned", at("2018-10-01"), "country_code", "IT"))
	same(t, "three features", collect(t, s.Points(t.Context(), key("planned", "2018-10-01", "/a", "", "IT"), models.DayUnique, stats.Range{})), point("2018-10-02", 3))
	same(t, "no feature", collect(t, s.Points(t.Context(), key("planned", "2018-10-01", "", "", ""), models.HourViews, stats.Range{})), point("2018-10-02T14", 4))
	same(t, "values", collect(t, s.Names(t.Context(), valuesOf("planned", at("2018-10-01"), "country_code"), every)), "IT")
	same(t, "values of another", collect(t, s.Names(t.Context(), valuesOf("planned", at("2018-10-01"), "page"), every)))
	same(t, "ranked", first(s.Ranked(t.Context(), []models.Key{key("planned", "2018-10-01", "/a", "", "DE"), key("planned", "2018-10-01", "/a", "", "IT")},
		models.DayUnique, within("2018-10-02", "2018-10-03"))), 0, 3)
}
