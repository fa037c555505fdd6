package statstest

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"footfall/models"
	"footfall/reader/stats"
)

func same[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func testLink(t *testing.T, s stats.Store, tables Tables) {
	ctx := t.Context()
	none, err := s.Link(ctx, "nobody")
	if err != nil || none != (stats.LinkTotals{}) {
		t.Errorf("a link that nobody made: %+v, %v", none, err)
	}
	tables.Count(t, Counts{models.LinkKey("total"): {{Counter: models.ClickCounter}: 5, {Counter: models.UniqueCounter}: 3, {Counter: models.BotCounter}: 2}})
	got, err := s.Link(ctx, "total")
	if want := (stats.LinkTotals{Clicks: 5, Unique: 3, Bots: 2}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	tables.Lead(t, "total", "https://example.org/?a=1")
	tables.Lead(t, "fresh", "https://example.org/fresh")
	got, err = s.Link(ctx, "total")
	if want := (stats.LinkTotals{LongURL: "https://example.org/?a=1", Clicks: 5, Unique: 3, Bots: 2}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if got, err := s.Link(ctx, "fresh"); err != nil || got != (stats.LinkTotals{LongURL: "https://example.org/fresh"}) {
		t.Errorf("a link without clicks: %+v, %v", got, err)
	}
}

func testClicks(t *testing.T, s stats.Store, tables Tables) {
	cells := map[models.Cell]int64{}
	for hour, n := range map[string]int64{"2018-10-31T23": 1, "2018-11-01T00": 2, "2018-11-01T01": 3, "2020-02-29T12": 4, "9999-12-31T23": 5} {
		cells[models.Cell{Counter: models.HourCounters, At: at(hour)}] = n
		cells[models.Cell{Counter: models.DayCounters, At: at(hour).Day()}] += n
	}
	tables.Count(t, Counts{models.LinkKey("clicked"): cells})
	tables.Count(t, Counts{models.LinkKey("clicked2"): {{Counter: models.DayCounters, At: at("2018-11-01")}: 99}})
	read := func(unit stats.Unit, r stats.Range) []stats.Point {
		t.Helper()
		counter := map[stats.Unit]string{stats.Hour: models.HourCounters, stats.Day: models.DayCounters}[unit]
		return collect(t, s.Points(t.Context(), models.LinkKey("clicked"), counter, r))
	}
	same(t, "all hours", read(stats.Hour, stats.Range{}), point("2018-10-31T23", 1), point("2018-11-01T00", 2), point("2018-11-01T01", 3),
		point("2020-02-29T12", 4), point("9999-12-31T23", 5))
	same(t, "all days", read(stats.Day, stats.Range{}), point("2018-10-31", 1), point("2018-11-01", 5), point("2020-02-29", 4), point("9999-12-31", 5))
	same(t, "half-open hours", read(stats.Hour, within("2018-11-01T00", "2018-11-01T01")), point("2018-11-01T00", 2))
	same(t, "half-open days", read(stats.Day, within("2018-10-31", "2018-11-01")), point("2018-10-31", 1))
	same(t, "from", read(stats.Day, stats.Range{From: at("2018-11-01")}), point("2018-11-01", 5), point("2020-02-29", 4), point("9999-12-31", 5))
	same(t, "to", read(stats.Hour, stats.Range{To: at("2018-11-01T00")}), point("2018-10-31T23", 1))
	same(t, "to the end of time", read(stats.Hour, stats.Range{From: at("9999-12-31"), To: models.Latest + 1}), point("9999-12-31T23", 5))
	same(t, "nothing", read(stats.Day, within("2019-01-01", "2020-01-01")))
}

func testLabels(t *testing.T, s stats.Store, tables Tables) {
	cells := map[models.Cell]int64{
		{Counter: models.CountryCounters, Label: "IT"}: 2, {Counter: models.CountryCounters, Label: "DE"}: 1,
		{Counter: models.CountryCounters, Label: "ZZ"}: 3, {Counter: models.ReferrerCounters, Label: ""}: 4,
		{Counter: models.ReferrerCounters, Label: "example.org"}: 1, {Counter: models.ReferrerCounters, Label: "Ärger"}: 1,
	}
	tables.Count(t, Counts{models.LinkKey("labelled"): cells})
	same(t, "countries", collect(t, s.Shares(t.Context(), "labelled", models.CountryCounters, stats.Range{})), stats.Share{Label: "DE", Count: 1},
		stats.Share{Label: "IT", Count: 2}, stats.Share{Label: "ZZ", Count: 3})
	same(t, "referrers", collect(t, s.Shares(t.Context(), "labelled", models.ReferrerCounters, stats.Range{})), stats.Share{Label: "", Count: 4},
		stats.Share{Label: "example.org", Count: 1}, stats.Share{Label: "Ärger", Count: 1})
	month := at("2018-10-01")
	tables.Count(t, Counts{models.LinkKey("monthly"): {
		{Counter: models.BrowserMonths, At: month, Label: "Firefox"}: 3, {Counter: models.BrowserMonths, At: month, Label: ""}: 1,
		{Counter: models.BrowserMonths, At: at("2018-12-01"), Label: "Firefox"}: 5, {Counter: models.BrowserMonths, At: at("9999-12-01"), Label: "Edge"}: 6,
		{Counter: models.SystemMonths, At: month, Label: "Firefox"}: 7,
	}})
	of := func(within stats.Range) []stats.Share {
		return collect(t, s.Shares(t.Context(), "monthly", models.BrowserMonths, within))
	}
	same(t, "browsers of a month", of(stats.PeriodOf(stats.Month, month).Range()), stats.Share{Count: 1}, stats.Share{Label: "Firefox", Count: 3})
	same(t, "browsers of no month", of(stats.PeriodOf(stats.Month, at("2018-11-01")).Range()))
	sums := map[string]int64{}
	for _, row := range of(stats.Range{}) {
		sums[row.Label] += row.Count
	}
	if want := map[string]int64{"": 1, "Firefox": 8, "Edge": 6}; !maps.Equal(sums, want) {
		t.Errorf("browsers of all time: %v, want %v", sums, want)
	}
	same(t, "countries of nobody", collect(t, s.Shares(t.Context(), "nobody", models.CountryCounters, stats.Range{})))
	same(t, "referrers of nobody", collect(t, s.Shares(t.Context(), "nobody", models.ReferrerCounters, stats.Range{})))
}

func testAmounts(t *testing.T, s stats.Store, tables Tables) {
	tables.Count(t, Counts{models.LinkKey("sold"): {
		{Counter: models.NumValues, At: at("2018-10-01")}: 2, {Counter: models.SumValues, At: at("2018-10-01")}: -500,
		{Counter: models.NumValues, At: at("2018-10-02")}: 1, {Counter: models.SumValues, At: at("2018-10-02")}: 0, // an amount of 0 is one too
		{Counter: models.NumValues, At: at("2018-10-03")}: 1, {Counter: models.SumValues, At: at("2018-10-03")}: models.MaxAmount,
	}})
	first := stats.Amount{Start: at("2018-10-01"), Num: 2, Sum: -500}
	zero := stats.Amount{Start: at("2018-10-02"), Num: 1}
	last := stats.Amount{Start: at("2018-10-03"), Num: 1, Sum: models.MaxAmount}
	same(t, "all", collect(t, s.Amounts(t.Context(), "sold", stats.Range{})), first, zero, last)
	same(t, "a day", collect(t, s.Amounts(t.Context(), "sold", within("2018-10-02", "2018-10-03"))), zero)
	same(t, "of nobody", collect(t, s.Amounts(t.Context(), "nobody", stats.Range{})))
}

func testLatest(t *testing.T, s stats.Store, tables Tables) {
	noon := models.Millis(time.Now().UnixMilli()).Day() - 12*3_600_000 // of yesterday: kept for an hour from now
	click := func(i int, bot bool) models.LatestClick {
		c := models.Click{ShortURL: "latest", TS: noon + models.Millis(i), IP: fmt.Sprintf("10.0.0.%d", i), Country: "IT", Referrer: "<b>", Bot: bot, ID: fmt.Sprint(i)}
		return c.Latest(models.Position{Topic: "clicks", Offset: int64(i)})
	}
	tables.Keep(t, click(2, false), click(1, true), click(300, false))
	got := collect(t, s.Latest(t.Context(), "latest", noon.Day()))
	want := func(i int, bot bool) stats.Click {
		return stats.Click{At: (noon + models.Millis(i)).Time(), Country: "IT", Referrer: "<b>", IP: fmt.Sprintf("10.0.0.%d", i), Bot: bot, ID: fmt.Sprint(i)}
	}
	same(t, "newest first", got, want(300, false), want(2, false), want(1, true))
	same(t, "of the day after", collect(t, s.Latest(t.Context(), "latest", noon.Day()+86_400_000)))
	same(t, "of nobody", collect(t, s.Latest(t.Context(), "nobody", noon.Day())))
}

func testRankedLinks(t *testing.T, s stats.Store, tables Tables) {
	ctx, cells := t.Context(), Counts{}
	var keys []models.Key
	var want []int64
	for i := range 1203 { // no multiple of any size of a request
		key := models.LinkKey(fmt.Sprintf("ranked/%d", i))
		keys, want = append(keys, key), append(want, 0)
		if i%3 == 0 {
			continue // not counted
		}
		cells[key] = map[models.Cell]int64{{Counter: models.DayCounters, At: at("2018-10-30")}: 100,
			{Counter: models.DayCounters, At: at("2018-10-31")}: int64(i), {Counter: models.ClickCounter}: 1_000_000}
		want[i] = int64(i)
	}
	for i, link := range Hostile() {
		keys, want = append(keys, models.LinkKey(link)), append(want, int64(i+1))
		cells.Add(models.LinkKey(link), models.Cell{Counter: models.DayCounters, At: at("2018-10-31")}, int64(i+1))
	}
	tables.Count(t, cells)
	keys, want = append(keys, keys[1]), append(want, want[1]) // twice
	same(t, "clicks of a day", first(s.Ranked(ctx, keys, models.DayCounters, stats.PeriodOf(stats.Day, at("2018-10-31")).Range())), want...)
	same(t, "of a day without any", first(s.Ranked(ctx, keys[:2], models.DayCounters, stats.PeriodOf(stats.Day, at("2018-10-29")).Range())), 0, 0)
	same(t, "of no links", first(s.Ranked(ctx, nil, models.DayCounters, stats.PeriodOf(stats.Day, at("2018-10-31")).Range())))
}
