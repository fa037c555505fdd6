package page

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"golang.org/x/sync/errgroup"

	"footfall/models"
	"footfall/reader/plot"
	"footfall/reader/stats"
)

type linkView struct {
	Name, Short string
	Leads       choice // where it leads; no Href: nowhere that a browser may be sent to
	Ranges      []choice
	Custom      customView
	Tiles       []tile
	Plot        *plotView
	Gone        *gone
	Compare     choice
	Breakdowns  []*breakdown
	Amounts     *amountsView
	Latest      []clickRow
	LatestCSV   string
	Export      exports
	Nothing     bool   // nothing was ever counted
	Unknown     bool   // and footfall did not make it
	Command     string // that sends a click
}

// choice is one of several addresses.
type choice struct {
	Label, Href string
	Now         bool
}

// customView is the form for a range that the visitor chose.
type customView struct {
	Action     string
	Hidden     [][2]string
	From, Last string
	By         stats.Unit
	Units      []stats.Unit
	Open       bool // it is what the page shows
}

type amountsView struct {
	Tiles []tile
	CSV   string
}

type clickRow struct {
	At, Stamp, Country, Referrer string
	Bot                          bool
}

// linkRanges are the choices of a link's page: so many units.
var linkRanges = []struct {
	name, label string
	unit        stats.Unit
	n           int
}{{"24h", "24 hours", stats.Hour, 24}, {"7d", "7 days", stats.Day, 7}, {"30d", "30 days", stats.Day, 30}, {"12m", "12 months", stats.Month, 12}, {"all", "All time", stats.Month, 12}}

// linkWindow is the time that a link's page shows; by default 30 days.
func linkWindow(a asked) (w window, err error) {
	name := a.q.Get("range")
	switch {
	case name != "" && a.isRange():
		return w, &stats.Malformed{Field: "range", Detail: "want either range or from, last and by"}
	case a.isRange():
		return chosen(a.place, a.now)
	}
	for _, r := range linkRanges {
		if r.name == cmp.Or(name, "30d") {
			w = lastUnits(r.unit, r.n, a.now)
			w.choice = r.name
			return w, nil
		}
	}
	return w, &stats.Malformed{Field: "range", Detail: "want 24h, 7d, 30d, 12m or all"}
}

// link is the page of a link.
func (h *Handler) link(ctx context.Context, a asked) (*view, error) {
	w, err := linkWindow(a)
	if err != nil {
		return nil, err
	}
	var (
		sum            stats.Link
		points, before []stats.Point
		data           = linkView{Name: models.Visible(a.name), Command: h.clickCommand(a.name)}
	)
	if sum, err = h.stats.Link(ctx, a.name); err != nil { // first: nothing that is read later has less than its AsOf says
		return nil, err
	}
	if w.choice == "all" {
		if w, err = h.allTime(ctx, a, w); err != nil {
			return nil, err
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { points, err = h.clicks(groupCtx, a, w.unit, w.within); return err })
	if past, ok := w.before(); ok && a.q.Get("compare") != "off" && w.choice != "all" {
		group.Go(func() (err error) { before, err = h.clicks(groupCtx, a, w.unit, past); return err })
	}
	if !a.live {
		group.Go(func() (err error) { data.Breakdowns, err = h.breakdowns(groupCtx, a, w, sum.Clicks); return err })
		group.Go(func() (err error) { data.Amounts, err = h.amounts(groupCtx, a, w); return err })
		group.Go(func() (err error) { data.Latest, err = h.latest(groupCtx, a); return err })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	data.Short, data.Leads = clip(data.Name), leads(sum.LongURL)
	data.Nothing = sum.Clicks == 0 && sum.Bots == 0
	data.Unknown = data.Nothing && sum.LongURL == ""
	if w.over(a.now) && total(points) == 0 {
		if data.Gone, err = h.goneLink(ctx, a, w); err != nil {
			return nil, err
		}
	} else {
		data.Plot = plotOf("clicks", w, points, before, a.now)
		data.Plot.CSV = a.api("/series", "by", string(w.unit), "from", stamp(w.within.From), "to", stamp(w.within.To), "format", "csv")
	}
	data.Tiles = linkTiles(sum, w, points, before, a.now)
	data.LatestCSV = a.api("/latest", "format", "csv")
	data.choices(a, w)
	return newView(a, data.Short, "link", sum.AsOf, data), nil
}

func (h *Handler) clicks(ctx context.Context, a asked, unit stats.Unit, within stats.Range) ([]stats.Point, error) {
	if beforeAll(within) {
		return nil, nil
	}
	series, err := h.stats.LinkSeries(ctx, a.name, unit, within)
	if err != nil {
		return nil, err
	}
	return filled(series)
}

// allTime is the window from the first click on, by a unit that gives more than a few points.
func (h *Handler) allTime(ctx context.Context, a asked, w window) (window, error) {
	series, err := h.stats.LinkSeries(ctx, a.name, stats.Day, stats.Range{})
	if err != nil {
		return w, err
	}
	first, err := collect(series.Points, 1)
	if err != nil || len(first) == 0 {
		return w, err
	}
	for _, unit := range []stats.Unit{stats.Day, stats.Week, stats.Month} {
		w.unit, w.within = unit, stats.Range{From: unit.Start(first[0].Start), To: unit.End(unit.Start(max(a.now, first[0].Start)))}
		if w.size() <= plot.MaxBars {
			break
		}
	}
	if w.size() > maxPoints { // older than anybody's clicks: a sender's clock was wrong
		w = lastUnits(stats.Month, maxPoints, a.now)
	}
	w.choice = "all"
	return w, nil
}

// leads is where a link leads, in words, and as an address if a browser may be sent there.
func leads(text string) choice {
	c := choice{Label: models.Visible(text)}
	if u, err := url.Parse(text); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
		c.Href = text
	}
	return c
}

func linkTiles(sum stats.Link, w window, points, before []stats.Point, now models.Millis) []tile {
	main := tile{Label: "Clicks in this period", Value: plot.Number(total(points)), Main: true}
	if done, n := finished(w.unit, points, now); len(before) > 0 && n > 0 {
		main.Note = change(done, total(before[:min(n, len(before))]))
		if main.Note != "" && n < len(points) {
			main.Note += ", the unfinished " + string(w.unit) + " left out"
		}
	}
	return []tile{main,
		{Label: "Clicks ever", Value: plot.Number(sum.Clicks)},
		{Label: "Unique visitors ever", Value: plot.Number(sum.Unique)},
		{Label: "Clicks by bots ever", Value: plot.Number(sum.Bots), Note: "in no other number"},
	}
}

// choices fills in where the page leads.
func (v *linkView) choices(a asked, w window) {
	for _, r := range linkRanges {
		v.Ranges = append(v.Ranges, choice{r.label, a.with("range", r.name, "from", "", "last", "", "by", ""), w.choice == r.name})
	}
	v.Custom = custom(a, w, w.choice == "", "compare", "share")
	v.Compare = compare(a)
	v.Export = a.exports(w, a.now)
}

func compare(a asked) choice {
	if a.q.Get("compare") == "off" {
		return choice{"Compare with the period before", a.with("compare", ""), false}
	}
	return choice{"Hide the period before", a.with("compare", "off"), true}
}

// custom is the form for a range; keep names the parameters that go with it.
func custom(a asked, w window, open bool, keep ...string) customView {
	path, _, _ := strings.Cut(a.with(), "?")
	v := customView{Action: path, By: w.unit, Open: open, Units: []stats.Unit{stats.Hour, stats.Day, stats.Week, stats.Month},
		From: w.within.From.Time().Format(models.Daily), Last: (w.within.To - 1).Time().Format(models.Daily)}
	for _, name := range keep {
		if value := a.q.Get(name); value != "" {
			v.Hidden = append(v.Hidden, [2]string{name, value})
		}
	}
	if a.name == "." || a.name == ".." {
		v.Hidden = append(v.Hidden, [2]string{"name", a.name})
	}
	return v
}
