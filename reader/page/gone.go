package page

import (
	"context"
	"errors"

	"footfall/models"
	"footfall/reader/stats"
)

// gone says that nothing is kept of the time that a page was asked for, and where the newest is.
type gone struct {
	Detail string
	Newest choice // no Href: there is none
}

// over tells whether a window of which nothing was counted stays so: no event that is sent now is in it.
func (w window) over(now models.Millis) bool { return !w.within.Contains(now) }

// beforeAll tells whether a range ends before any event can be. Nothing is asked of it: a range that begins in 1970 would count as open.
func beforeAll(within stats.Range) bool { return within.To <= models.Earliest }

// goneLink finds the newest month of a link.
func (h *Handler) goneLink(ctx context.Context, a asked, w window) (*gone, error) {
	g := &gone{Detail: "No click that was counted is of " + w.words() + "."}
	series, err := h.stats.LinkSeries(ctx, a.name, stats.Month, stats.Range{})
	if err != nil {
		return nil, err
	}
	months, err := collect(series.Points, 0)
	if err != nil || len(months) == 0 {
		return g, err
	}
	newest := stats.PeriodOf(stats.Month, months[len(months)-1].Start)
	from, last := newest.Start.Time().Format(models.Daily), (newest.End() - 1).Time().Format(models.Daily)
	g.Newest = choice{Label: periodWords(newest), Href: a.with("range", "", "from", from, "last", last, "by", "")}
	return g, nil
}

// goneSite says that a site has nothing of a time, and where the newest is.
func (h *Handler) goneSite(ctx context.Context, s siteAsked) (*gone, error) {
	g := &gone{Detail: "No visit that was counted is of " + s.words()}
	if len(s.features) > 0 {
		g.Detail += ", with what you filter by"
	}
	g.Detail += "."
	var err error
	g.Newest, err = h.newestMonth(ctx, s)
	return g, err
}

// newestMonth finds the newest month of a site, of the last two years. It has no Href if there is none.
func (h *Handler) newestMonth(ctx context.Context, s siteAsked) (newest choice, err error) {
	for _, metric := range []stats.Metric{stats.Views, stats.Unique} {
		series, err := h.stats.SiteSeries(ctx, stats.SeriesQuery{Site: s.name, Metric: metric, By: stats.Month, Within: lastUnits(stats.Month, 24, s.now).within, Features: s.features})
		var none *stats.NotKept
		if errors.As(err, &none) {
			continue
		}
		if err != nil {
			return newest, err
		}
		months, err := collect(series.Points, 0)
		if len(months) > 0 {
			p := stats.PeriodOf(stats.Month, months[len(months)-1].Start)
			newest = choice{Label: periodWords(p), Href: s.with("period", p.String(), "from", "", "last", "", "by", "")}
		}
		return newest, err
	}
	return newest, nil
}

// goneRange is a range of a site of which nothing can be asked.
func (h *Handler) goneRange(ctx context.Context, s siteAsked, v *siteView) (stats.AsOf, error) {
	site, err := h.stats.Site(ctx, s.name, stats.PeriodOf(stats.Month, s.now), nil)
	if err != nil {
		return stats.AsOf{}, err
	}
	v.Gone, err = h.goneSite(ctx, s)
	return site.AsOf, err
}
