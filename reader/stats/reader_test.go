package stats_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

func on(text string) models.Millis {
	t, err := stats.ParseMoment("test", text)
	if err != nil {
		panic(err)
	}
	return t
}

func within(from, to string) stats.Range { return stats.Range{From: on(from), To: on(to)} }

func period(text string) stats.Period {
	p, err := stats.ParsePeriod(text)
	if err != nil {
		panic(err)
	}
	return p
}

func points(pairs ...any) (out []stats.Point) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, stats.Point{Start: on(pairs[i].(string)), Count: int64(pairs[i+1].(int))})
	}
	return out
}

// collected runs through what a method returned.
func collected[T any](t *testing.T, rows iter.Seq2[T, error], err error) (out []T) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

func same[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// refused tells whether err has a refusal of the kind.
func refused[E error](t *testing.T, what string, err error) {
	t.Helper()
	var refusal E
	if !errors.As(err, &refusal) {
		t.Errorf("%s: %v, want a %T", what, err, refusal)
	}
}

func click(link, ip, at string, change ...func(*models.Click)) models.Event {
	c := &models.Click{V: 1, ID: ip + at, ShortURL: link, IP: ip, TS: on(at)}
	for _, f := range change {
		f(c)
	}
	return c
}

func memory(plan *models.Plan) (*statstest.Memory, *stats.Reader) {
	m := statstest.NewMemory(plan)
	return m, stats.New(m, "clicks", "visits")
}

func TestALinksSeries(t *testing.T) {
	m, r := memory(models.DefaultPlan())
	for _, at := range []string{"2018-10-28T23", "2018-10-29T00", "2018-10-31T23", "2018-11-01T00", "2018-11-04T23", "2018-11-05T00", "2020-02-29T12", "2020-03-01T00"} {
		m.Add(click("abc", "10.0.0.1", at))
	}
	for _, c := range []struct {
		by     stats.Unit
		within stats.Range
		want   []stats.Point
	}{
		{stats.Hour, within("2018-10-31", "2018-11-02"), points("2018-10-31T23", 1, "2018-11-01T00", 1)},
		{stats.Day, within("2018-10-28", "2018-11-01"), points("2018-10-28", 1, "2018-10-29", 1, "2018-10-31", 1)},
		{stats.Week, stats.Range{}, points("2018-10-22", 1, "2018-10-29", 4, "2018-11-05", 1, "2020-02-24", 2)}, // over the ends of months
		{stats.Week, within("2018-10-29", "2018-11-05"), points("2018-10-29", 4)},
		{stats.Month, stats.Range{}, points("2018-10", 3, "2018-11", 3, "2020-02", 1, "2020-03", 1)},
		{stats.Month, stats.Range{From: on("2018-11")}, points("2018-11", 3, "2020-02", 1, "2020-03", 1)},
	} {
		s, err := r.LinkSeries(t.Context(), "abc", c.by, c.within)
		same(t, fmt.Sprintf("%s of %v", c.by, c.within), collected(t, s.Points, err), c.want)
	}
	_, err := r.LinkSeries(t.Context(), "abc", stats.Week, within("2018-10-01", "2018-11-01"))
	var not *stats.NotAligned
	if !errors.As(err, &not) || not.Aligned != within("2018-10-01", "2018-11-05") {
		t.Errorf("half a week: %v, want the suggestion to end with it", err)
	}
	_, err = r.LinkSeries(t.Context(), "abc", "fortnight", stats.Range{})
	refused[*stats.Malformed](t, "no unit", err)
}

func TestALinksBreakdownAndAmounts(t *testing.T) {
	m, r := memory(models.DefaultPlan())
	value := int64(250)
	for i, from := range []string{"b.example", "a.example", "b.example", "c.example", "", "c.example", "c.example"} {
		m.Add(click("abc", "10.0.0.1", fmt.Sprintf("2018-10-3%dT10", i%2), func(c *models.Click) { c.Referrer, c.Country, c.Amount = from, "IT", &value }))
	}
	s, err := r.LinkBreakdown(t.Context(), "abc", "referrers", stats.Range{}, 0)
	same(t, "all", collected(t, s.Rows, err), []stats.Share{{Label: "", Count: 1}, {Label: "a.example", Count: 1}, {Label: "b.example", Count: 2}, {Label: "c.example", Count: 3}})
	s, err = r.LinkBreakdown(t.Context(), "abc", "referrers", stats.Range{}, 3)
	same(t, "largest", collected(t, s.Rows, err), []stats.Share{{Label: "c.example", Count: 3}, {Label: "b.example", Count: 2}, {Label: "", Count: 1}})
	s, err = r.LinkBreakdown(t.Context(), "abc", "referrers", stats.Range{}, 1)
	same(t, "the largest", collected(t, s.Rows, err), []stats.Share{{Label: "c.example", Count: 3}})
	s, err = r.LinkBreakdown(t.Context(), "abc", "countries", stats.Range{}, 10)
	same(t, "countries", collected(t, s.Rows, err), []stats.Share{{Label: "IT", Count: 7}})
	october := within("2018-10-01", "2018-11-01")
	s, err = r.LinkBreakdown(t.Context(), "abc", "referrers", october, 2)
	same(t, "largest of a month", collected(t, s.Rows, err), []stats.Share{{Label: "c.example", Count: 3}, {Label: "b.example", Count: 2}})
	s, err = r.LinkBreakdown(t.Context(), "abc", "referrers", within("2018-11-01", "2019-01-01"), 0)
	same(t, "other months", collected(t, s.Rows, err), nil)
	_, err = r.LinkBreakdown(t.Context(), "abc", "referrers", within("2018-10-02", "2018-11-01"), 0)
	refused[*stats.NotAligned](t, "a part of a month", err)
	_, err = r.LinkBreakdown(t.Context(), "abc", "referrers", stats.Range{From: october.From}, 0)
	refused[*stats.Malformed](t, "an open range", err)
	_, err = r.LinkBreakdown(t.Context(), "abc", "colours", stats.Range{}, 0)
	refused[*stats.NotKept](t, "colours", err)
	why, _, _ := strings.Cut(err.Error(), ", or for browsers")
	same(t, "why", []string{why}, []string{"a link's list of colours is not kept; ask for countries, or for referrers"})
	plan, err := models.NewPlan(models.DefaultFeatures(), []string{models.DayViews})
	if err != nil {
		t.Fatal(err)
	}
	_, few := memory(plan)
	_, err = few.LinkBreakdown(t.Context(), "abc", "countries", october, 0)
	refused[*stats.NotKept](t, "countries of a month", err)
	same(t, "why", []string{err.Error()}, []string{"a link's list of countries for a range of time is not kept; ask for countries of all time, without from and to, or for clicks of a range of time (series)"})
	_, err = few.LinkBreakdown(t.Context(), "abc", "browsers", stats.Range{}, 0)
	refused[*stats.NotKept](t, "browsers", err)

	a, err := r.LinkAmounts(t.Context(), "abc", stats.Day, stats.Range{})
	same(t, "by day", collected(t, a.Rows, err), []stats.Amount{{Start: on("2018-10-30"), Num: 4, Sum: 1000}, {Start: on("2018-10-31"), Num: 3, Sum: 750}})
	a, err = r.LinkAmounts(t.Context(), "abc", stats.Week, stats.Range{})
	same(t, "by week", collected(t, a.Rows, err), []stats.Amount{{Start: on("2018-10-29"), Num: 7, Sum: 1750}})
	_, err = r.LinkAmounts(t.Context(), "abc", stats.Hour, stats.Range{})
	refused[*stats.NotKept](t, "amounts by hour", err)
	same(t, "why", []string{err.Error()}, []string{"the amount by hour is not kept; ask for amounts by day, week, month"})
}

func TestNamesThatCannotBe(t *testing.T) {
	_, r := memory(models.DefaultPlan())
	for _, name := range []string{"", "\xff", strings.Repeat("x", models.MaxShortURL+1)} {
		_, err := r.Link(t.Context(), name)
		refused[*stats.Malformed](t, "link", err)
		_, err = r.LinkSeries(t.Context(), name, stats.Day, stats.Range{})
		refused[*stats.Malformed](t, "series", err)
		_, err = r.Site(t.Context(), name, period("2018-10"), nil)
		refused[*stats.Malformed](t, "site", err)
	}
	_, err := r.Site(t.Context(), "site", period("2018-10"), map[string]string{"feature1": "\xff"})
	refused[*stats.Malformed](t, "value", err)
	if _, err := r.Link(t.Context(), "nul\x00 and 'quote\u202e"); err != nil {
		t.Errorf("a name that nobody can count has no counts, and is no mistake: %v", err)
	}
}

func TestAnErrorEndsASequence(t *testing.T) {
	m, r := memory(models.DefaultPlan())
	m.Add(click("abc", "10.0.0.1", "2018-10-30"), click("abc", "10.0.0.1", "2018-10-31"))
	s, err := r.LinkSeries(t.Context(), "abc", stats.Month, stats.Range{})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the database is gone")
	m.Fail(broken)
	n := 0
	for p, err := range s.Points {
		if n++; !errors.Is(err, broken) || p != (stats.Point{}) {
			t.Errorf("%v, %v; want the store's error alone", p, err)
		}
	}
	if n != 1 {
		t.Errorf("%d points, want the error", n)
	}
	for what, ask := range map[string]func() error{
		"Link":  func() error { _, err := r.Link(t.Context(), "abc"); return err },
		"Links": func() error { _, err := r.Links(t.Context(), on("2018-10-30"), all); return err },
		"Site":  func() error { _, err := r.Site(t.Context(), "s", period("2018-10"), nil); return err },
		"SiteTop": func() error {
			_, err := r.SiteTop(t.Context(), stats.TopQuery{Site: "s", Feature: "feature1", Period: period("2018-10"), Metric: stats.Views})
			return err
		},
		"Sites":  func() error { _, err := r.Sites(t.Context(), on("2018-10"), all); return err },
		"Latest": func() error { _, err := r.LinkLatest(t.Context(), "abc", on("2018-10-30")); return err },
	} {
		if err := ask(); !errors.Is(err, broken) {
			t.Errorf("%s: %v, want the store's error", what, err)
		}
	}
}

func TestAsOf(t *testing.T) {
	m, r := memory(models.DefaultPlan())
	m.NoteNow("clicks", 3)
	m.Doubt(t, models.Partition{Topic: "clicks"}, 1)
	m.Doubt(t, models.Partition{Topic: "clicks-g2"}, 1)
	m.Doubt(t, models.Partition{Topic: "visits"}, 1)
	l, err := r.Link(t.Context(), "abc")
	if err != nil || l.AsOf.Time.IsZero() || !l.AsOf.Counting || l.AsOf.Lag != 0 || l.AsOf.Doubts != 2 {
		t.Errorf("%+v, %v", l.AsOf, err)
	}
	s, err := r.Sites(t.Context(), on("2018-10"), all)
	if err != nil || !s.AsOf.Time.IsZero() || s.AsOf.Counting || s.AsOf.Doubts != 1 {
		t.Errorf("visits: %+v, %v", s.AsOf, err)
	}
}

// A partition that no consumer has told about may lag by any time.
func TestAsOfOfSomePartitions(t *testing.T) {
	m, r := memory(models.DefaultPlan())
	m.Split(t, "clicks", 2)
	m.NoteNow("clicks", 3)
	ask := func() stats.AsOf {
		t.Helper()
		l, err := r.Link(t.Context(), "abc")
		if err != nil {
			t.Fatal(err)
		}
		return l.AsOf
	}
	if as := ask(); !as.Time.IsZero() || as.Counting {
		t.Errorf("one of two partitions: %+v", as)
	}
	m.Note(t, stats.Progress{Partition: models.Partition{Topic: "clicks", Number: 1}, At: time.Now()})
	if as := ask(); as.Time.IsZero() || !as.Counting {
		t.Errorf("both: %+v", as)
	}
	m.Split(t, "clicks-g2", 1)
	m.NoteNow("clicks-g2", 3)
	if as := ask(); as.Time.IsZero() || !as.Counting {
		t.Errorf("all of the next generation: %+v", as)
	}
}

// Doubts and retirements are read once a second at the most, and never from before that.
func TestWhatChangesRarely(t *testing.T) {
	m, r := memory(models.DefaultPlan())
	now := time.Now()
	stats.SetClock(r, func() time.Time { return now })
	ask := func() stats.Site {
		t.Helper()
		s, err := r.Site(t.Context(), "site", period("2018-10"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := ask(); s.Final || s.AsOf.Doubts != 0 {
		t.Errorf("%+v", s)
	}
	m.Retire(t, on("2018-11"), true)
	m.Doubt(t, models.Partition{Topic: "visits"}, 1)
	now = now.Add(time.Second)
	if s := ask(); !s.Final || s.AsOf.Doubts != 1 {
		t.Errorf("a second later: %+v", s)
	}
}

func TestFill(t *testing.T) {
	given := func(yield func(stats.Point, error) bool) {
		for _, p := range points("2018-10-31", 3, "2018-11-02", 4) {
			if !yield(p, nil) {
				return
			}
		}
	}
	same(t, "filled", collected(t, stats.Fill(stats.Day, within("2018-10-30", "2018-11-05"), given), nil),
		points("2018-10-30", 0, "2018-10-31", 3, "2018-11-01", 0, "2018-11-02", 4, "2018-11-03", 0, "2018-11-04", 0))
	none := func(func(stats.Point, error) bool) {}
	same(t, "of nothing", collected(t, stats.Fill(stats.Month, within("2020-01", "2020-04"), none), nil), points("2020-01", 0, "2020-02", 0, "2020-03", 0))
	for p, err := range stats.Fill(stats.Hour, within("2018-10-01", "2018-10-02"), none) {
		if err != nil || p.Start != on("2018-10-01") {
			t.Errorf("%v, %v", p, err)
		}
		break
	}
}
