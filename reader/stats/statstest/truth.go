package statstest

import (
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/simulator/mock"
	"footfall/simulator/tables"
)

// Plan makes up some hundred events around the end of a year, with a week in two years. One value of each feature is empty, and names
// need quotes.
func Plan(plan *models.Plan) mock.Plan {
	p := mock.Plan{Site: "site'1", Guids: 20, Visits: 250, Seed: 7, Zipf: 1.1, Clicks: 300, Links: []string{"abc", "b'c", "<i>"},
		From: time.Date(2018, 12, 20, 0, 0, 0, 0, time.UTC), To: time.Date(2019, 1, 9, 0, 0, 0, 0, time.UTC),
		Countries: []string{"IT", "DE", "FR"}, Referers: []string{"example.org", "it's.example"}}
	for i, feature := range plan.Features() {
		values := [][]string{{"google.com", "facebook.com", ""}, {"/index.html", "", "it's"}, {"a", ""}}[i%3]
		p.Features = append(p.Features, mock.Feature{Name: feature, Values: values})
	}
	return p
}

// Agent is what a made-up user agent tells.
func Agent(made mock.Agent) (told models.Agent) {
	for i, name := range told.Names() {
		*name = made.Names[i]
	}
	return told
}

// Events are the simulator's events as the topics carry them, of tables with this plan. Addresses are the simulator's.
func Events(p mock.Plan, plan *models.Plan) (out []models.Event) {
	for _, c := range mock.MakeClicks(p) {
		out = append(out, &models.Click{V: 1, ID: c.ID, ShortURL: c.Link, IP: c.IP, Country: c.Country, TS: models.Millis(c.At.UnixMilli()),
			Referrer: c.Referrer, Bot: c.Bot, Amount: c.Amount, Agent: Agent(c.Agent), Plan: plan})
	}
	for _, v := range mock.MakeVisits(p) {
		out = append(out, &models.Visit{V: 1, ID: v.ID, SiteID: p.Site, GUID: v.GUID, TS: models.Millis(v.At.UnixMilli()), Features: v.Features, Plan: plan})
	}
	return out
}

// Fill counts events into tables, each at once and in their order.
func Fill(t testing.TB, into Tables, plan *models.Plan, events []models.Event) {
	t.Helper()
	seen, cells, names := map[models.Sighting]bool{}, Counts{}, map[models.Name]bool{}
	for _, e := range events {
		var first []bool
		for _, s := range e.Sightings() {
			first = append(first, !seen[s])
			seen[s] = true
		}
		e.Count(first, cells.Add)
	}
	for key, counts := range cells {
		plan.Names(key, counts, func(name models.Name) { names[name] = true })
	}
	into.Count(t, cells)
	var list []models.Name
	for name := range names {
		list = append(list, name)
	}
	into.List(t, list...)
}

// Truth compares what a reader answers with what the simulator says that the tables hold of its own events, cell by cell and both ways.
// The tables must hold nothing else.
func Truth(t testing.TB, r *stats.Reader, p mock.Plan) {
	t.Helper()
	want := tables.Cells{}
	want.AddClicks(r.Plan().Metrics(), mock.MakeClicks(p))
	want.AddVisits(p.Site, r.Plan().Metrics(), mock.MakeVisits(p))
	for name := range want {
		if strings.HasPrefix(name, "GuidData(") || strings.HasPrefix(name, "uniquecounterips(") {
			delete(want, name) // nobody may ask who the visitors were
		}
	}
	a := &asking{t: t, r: r, p: p, got: tables.Cells{}, plan: r.Plan(),
		days: stats.Range{From: millis(p.From).Day(), To: stats.Day.End(millis(p.To).Day())}}
	a.links()
	a.site()
	different := tables.Diff(want, a.got)
	for _, line := range different[:min(len(different), 20)] {
		t.Error(line)
	}
	t.Logf("%d cells compared, %d differ", len(want), len(different))
	if len(want) < 100 {
		t.Errorf("%d cells only: nothing to compare", len(want))
	}
}

func millis(t time.Time) models.Millis { return models.Millis(t.UnixMilli()) }

// asking puts the tables together from answers.
type asking struct {
	t    testing.TB
	r    *stats.Reader
	p    mock.Plan
	plan *models.Plan
	days stats.Range // all of the plan's
	got  tables.Cells
}

func (a *asking) check(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// all runs through what was answered.
func all[T any](a *asking, rows iter.Seq2[T, error], err error) (out []T) {
	a.t.Helper()
	a.check(err)
	for row, err := range rows {
		a.check(err)
		out = append(out, row)
	}
	return out
}

// put is for a row that must not be told twice; one of 0 is no row.
func (a *asking) put(count int64, table string, key ...any) {
	a.t.Helper()
	name := tables.Name(table, key...)
	if _, twice := a.got[name]; twice {
		a.t.Errorf("%s twice", name)
	}
	if count != 0 || strings.HasPrefix(table, "amountcounters.sum") {
		a.got[name] = count
	}
}

// links asks for the links that days list, and for all about them.
func (a *asking) links() {
	ctx := a.t.Context()
	listed := map[string]bool{}
	for day := a.days.From; day < a.days.To; day = stats.Day.End(day) {
		names, err := a.r.Links(ctx, day, []models.NameRange{every})
		for _, link := range all(a, names.Rows, err) {
			s, err := a.r.LinkSeries(ctx, link, stats.Day, stats.PeriodOf(stats.Day, day).Range())
			if len(all(a, s.Points, err)) != 1 {
				a.t.Errorf("%s is listed on %v, and has no clicks", link, day.Time())
			}
			listed[link] = true
		}
	}
	for link := range listed {
		a.link(link)
	}
}

func (a *asking) link(link string) {
	ctx := a.t.Context()
	l, err := a.r.Link(ctx, link)
	a.check(err)
	a.put(l.Clicks, "clickcounter", link)
	a.put(l.Unique, "uniquecounter", link)
	a.put(l.Bots, "botcounter", link)
	for unit, table := range map[stats.Unit]string{stats.Hour: "hourcounters", stats.Day: "daycounters"} {
		s, err := a.r.LinkSeries(ctx, link, unit, a.days)
		for _, p := range all(a, s.Points, err) {
			a.put(p.Count, table, link, p.Start.Time())
		}
	}
	for _, unit := range []stats.Unit{stats.Week, stats.Month} { // no tables of their own: they add up to all clicks
		s, err := a.r.LinkSeries(ctx, link, unit, stats.Range{})
		sum := int64(0)
		for _, p := range all(a, s.Points, err) {
			sum += p.Count
		}
		if sum != l.Clicks {
			a.t.Errorf("%s by %s: %d clicks, want %d", link, unit, sum, l.Clicks)
		}
	}
	for by, table := range map[string]string{"countries": "countrycounters", "referrers": "referrercounters"} {
		shares, err := a.r.LinkBreakdown(ctx, link, by, stats.Range{}, 0)
		for _, row := range all(a, shares.Rows, err) {
			a.put(row.Count, table, link, row.Label)
		}
	}
	dimensions := map[string]string{"countries": "country", "referrers": "referrer"}
	for _, dimension := range mock.AgentDimensions {
		dimensions[dimension+"s"] = dimension
	}
	for by, dimension := range dimensions {
		if slices.Contains(a.plan.Metrics(), dimension) {
			a.byMonth(link, by, dimension, l.Clicks)
		}
	}
	amounts, err := a.r.LinkAmounts(ctx, link, stats.Day, a.days)
	for _, row := range all(a, amounts.Rows, err) {
		a.put(row.Num, "amountcounters.num_values", link, row.Start.Time())
		a.put(row.Sum, "amountcounters.sum_values", link, row.Start.Time())
	}
}

// byMonth asks for each month, for all of them at once, and for all time.
func (a *asking) byMonth(link, by, dimension string, clicks int64) {
	ctx, sums, whole := a.t.Context(), map[string]int64{}, stats.Range{From: a.days.From.Month(), To: stats.Month.End((a.days.To - 1).Month())}
	for month := whole.From; month < whole.To; month = stats.Month.End(month) {
		shares, err := a.r.LinkBreakdown(ctx, link, by, stats.PeriodOf(stats.Month, month).Range(), 0)
		for _, row := range all(a, shares.Rows, err) {
			a.put(row.Count, "monthcounters", link, dimension, month.Time(), row.Label)
			sums[row.Label] += row.Count
		}
	}
	for what, within := range map[string]stats.Range{"all months": whole, "all time": {}} {
		shares, err := a.r.LinkBreakdown(ctx, link, by, within, 0)
		sum, before := int64(0), ""
		for i, row := range all(a, shares.Rows, err) {
			if row.Count != sums[row.Label] || i > 0 && row.Label <= before {
				a.t.Errorf("%s of %s in %s: %q after %q has %d, want %d", by, link, what, row.Label, before, row.Count, sums[row.Label])
			}
			sum, before = sum+row.Count, row.Label
		}
		if sum != clicks {
			a.t.Errorf("%s of %s in %s add up to %d, want %d", by, link, what, sum, clicks)
		}
	}
}

// featureValues are the values that any month lists for a feature.
func (a *asking) featureValues(feature string) (out []string) {
	for month := a.months().From; month < a.months().To; month = stats.Month.End(month) {
		names, err := a.r.Values(a.t.Context(), a.p.Site, feature, month)
		for _, value := range all(a, names.Rows, err) {
			if !slices.Contains(out, value) {
				out = append(out, value)
			}
		}
	}
	return out
}
