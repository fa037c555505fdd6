package page

import (
	"cmp"
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"footfall/models"
	"footfall/reader/plot"
	"footfall/reader/stats"
)

type siteView struct {
	Name, Short    string
	Periods        []choice
	Previous, Next string
	Words          string
	Final          bool
	Metrics        []choice
	Filters        []filter
	Custom         customView
	Tiles          []tile
	Plot           *plotView
	Gone           *gone
	Compare        choice
	Breakdowns     []*breakdown
	NoBreakdowns   []choice // months that have them, where the period has none
	Export         exports
	Nothing        bool
	Newest         choice // where there is something; no Href: nothing of the last two years has
	Command        string // that sends a visit
}

// filter is a feature that is fixed to a value.
type filter struct{ Feature, Value, Off string }

var metricWords = map[stats.Metric]string{stats.Unique: "Unique visitors", stats.Views: "Views"}

// columnWords has room on a phone.
var columnWords = map[stats.Metric]string{stats.Unique: "Visitors", stats.Views: "Views"}

// siteAsked is what a site's page is asked for. Either period is set, or the window is a range that the visitor chose.
type siteAsked struct {
	asked
	period *stats.Period
	w      window
	metric stats.Metric
}

// words is the time that is asked for, as people say it.
func (s siteAsked) words() string {
	if s.period != nil {
		return periodWords(*s.period)
	}
	return s.w.words()
}

// finer is the unit that a period is plotted by.
var finer = map[stats.Unit]stats.Unit{stats.Month: stats.Day, stats.Week: stats.Day, stats.Day: stats.Hour}

func (h *Handler) understandSite(a asked) (s siteAsked, err error) {
	s = siteAsked{asked: a}
	if a.q.Has("period") && a.isRange() {
		return s, &stats.Malformed{Field: "period", Detail: "want either period or from, last and by"}
	}
	if a.isRange() {
		if s.w, err = chosen(a.place, a.now); err != nil {
			return s, err
		}
	} else {
		period, err := stats.ParsePeriod(cmp.Or(a.q.Get("period"), a.now.Time().Format(models.Monthly)))
		if err != nil {
			return s, err
		}
		s.period = &period
		s.w = window{unit: finer[period.Unit], within: period.Range()}
	}
	s.metric = stats.Unique
	if s.w.unit == stats.Hour && len(s.features) < 2 {
		s.metric = stats.Views
	}
	if text := a.q.Get("metric"); text != "" {
		s.metric, err = stats.ParseMetric(text)
	}
	return s, err
}

// site is the page of a site.
func (h *Handler) site(ctx context.Context, a asked) (*view, error) {
	s, err := h.understandSite(a)
	if err != nil {
		return nil, err
	}
	data := &siteView{Name: models.Visible(a.name), Command: h.visitCommand(a.name)}
	data.Short = clip(data.Name)
	var as stats.AsOf
	if s.period != nil {
		as, err = h.sitePeriod(ctx, s, data)
	} else {
		as, err = h.siteRange(ctx, s, data)
	}
	if err != nil {
		return nil, err
	}
	data.choices(s, h.stats.Plan().Features())
	return newView(a, data.Short, "site", as, data), nil
}

// sitePeriod fills in a day, week or month.
func (h *Handler) sitePeriod(ctx context.Context, s siteAsked, v *siteView) (stats.AsOf, error) {
	now, err := h.stats.Site(ctx, s.name, *s.period, s.features)
	if err != nil {
		return stats.AsOf{}, err
	}
	if nothing := zero(now.Views) && zero(now.Unique) && (now.Views != nil || now.Unique != nil); nothing && s.w.over(s.now) {
		v.Gone, err = h.goneSite(ctx, s)
		return now.AsOf, err
	}
	past := stats.PeriodOf(s.period.Unit, max(0, s.period.Start-1))
	before := stats.Site{}
	group, groupCtx := errgroup.WithContext(ctx)
	if s.compares() {
		group.Go(func() (err error) { before, err = h.stats.Site(groupCtx, s.name, past, s.features); return err })
	}
	group.Go(func() (err error) { v.Plot, err = h.sitePlot(groupCtx, s, past.Range()); return err })
	if !s.live {
		var names []string
		for _, name := range h.stats.Plan().Features() {
			if s.features[name] == "" {
				names = append(names, name)
			}
		}
		v.Breakdowns = make([]*breakdown, len(names))
		for i, name := range names {
			group.Go(func() (err error) { v.Breakdowns[i], err = h.siteTop(groupCtx, s, name, now); return err })
		}
	}
	if err := group.Wait(); err != nil {
		return stats.AsOf{}, err
	}
	v.Final = now.Final
	if v.Nothing = zero(now.Views) && zero(now.Unique) && len(s.features) == 0; v.Nothing && !s.live {
		if v.Newest, err = h.newestMonth(ctx, s); err != nil {
			return stats.AsOf{}, err
		}
	}
	v.Tiles = []tile{periodTile("Unique visitors", now.Unique, before.Unique, *s.period, s.now), periodTile("Views", now.Views, before.Views, *s.period, s.now)}
	v.Tiles[0].Main = true
	return now.AsOf, nil
}

func (s siteAsked) compares() bool { return s.q.Get("compare") != "off" && s.w.within.From > 0 }

func zero(n *int64) bool { return n == nil || *n == 0 }

// periodTile compares a period with the one before only if it is over: unique visitors of a part of a period are not kept.
func periodTile(label string, now, before *int64, p stats.Period, at models.Millis) tile {
	switch {
	case now == nil:
		return tile{Label: label, Value: "–", Note: "not kept for this"}
	case before == nil:
		return tile{Label: label, Value: plot.Number(*now)}
	case p.End() > at:
		return tile{Label: label, Value: plot.Number(*now), Note: "so far; " + plot.Number(*before) + " in the whole " + string(p.Unit) + " before"}
	}
	return tile{Label: label, Value: plot.Number(*now), Note: change(*now, *before)}
}

// siteRange fills in a range that the visitor chose. Views add up. Unique visitors do not, and rankings are of periods.
func (h *Handler) siteRange(ctx context.Context, s siteAsked, v *siteView) (stats.AsOf, error) {
	if beforeAll(s.w.within) {
		return h.goneRange(ctx, s, v)
	}
	views, err := h.stats.SiteSeries(ctx, stats.SeriesQuery{Site: s.name, Metric: stats.Views, By: s.w.unit, Within: s.w.within, Features: s.features})
	tiles := []tile{{Label: "Unique visitors", Value: "–", Note: "kept by day, week and month; they do not add up"}, {Label: "Views", Value: "–", Note: "not kept for this", Main: true}}
	var none *stats.NotKept
	as := views.AsOf // before anything is counted up: all that is shown has at least what it says
	switch {
	case errors.As(err, &none):
		site, err := h.stats.Site(ctx, s.name, stats.PeriodOf(stats.Month, s.now), nil)
		if err != nil {
			return stats.AsOf{}, err
		}
		v.Tiles, as = tiles, site.AsOf
	case err != nil:
		return stats.AsOf{}, err
	default:
		points, err := collect(views.Points, 0)
		if err != nil {
			return stats.AsOf{}, err
		}
		if len(points) == 0 && s.w.over(s.now) {
			v.Gone, err = h.goneSite(ctx, s)
			return as, err
		}
		tiles[1].Value, tiles[1].Note = plot.Number(total(points)), ""
		v.Tiles = []tile{tiles[1], tiles[0]}
	}
	past, _ := s.w.before()
	v.Plot, err = h.sitePlot(ctx, s, past)
	return as, err
}

// sitePlot draws the metric; what is not kept is said in its place.
func (h *Handler) sitePlot(ctx context.Context, s siteAsked, past stats.Range) (*plotView, error) {
	q := stats.SeriesQuery{Site: s.name, Metric: s.metric, By: s.w.unit, Within: s.w.within, Features: s.features}
	noun := map[stats.Metric]string{stats.Unique: "unique visitors", stats.Views: "views"}[s.metric]
	var points, before []stats.Point
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { points, err = h.sitePoints(groupCtx, q); return err })
	if s.compares() && past.From > 0 {
		q := q
		q.Within = past
		group.Go(func() (err error) { before, err = h.sitePoints(groupCtx, q); return err })
	}
	err := group.Wait()
	var none *stats.NotKept
	if errors.As(err, &none) {
		return &plotView{Heading: metricWords[s.metric] + " by " + string(s.w.unit), Words: s.w.words(), NotKept: none}, nil
	}
	if err != nil {
		return nil, err
	}
	v := plotOf(noun, s.w, points, before, s.now)
	v.CSV = s.api("/series", append(s.filterPairs(), "metric", string(s.metric), "by", string(s.w.unit), "from", stamp(s.w.within.From), "to", stamp(s.w.within.To), "format", "csv")...)
	return v, nil
}

func (h *Handler) sitePoints(ctx context.Context, q stats.SeriesQuery) ([]stats.Point, error) {
	series, err := h.stats.SiteSeries(ctx, q)
	if err != nil {
		return nil, err
	}
	return filled(series)
}

// filterPairs are the filters as parameters.
func (s siteAsked) filterPairs() (pairs []string) {
	for name, value := range s.features {
		pairs = append(pairs, featureParam(name), value)
	}
	return pairs
}
