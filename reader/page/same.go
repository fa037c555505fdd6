package page

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"footfall/models"
	"footfall/reader/stats"
)

// samePage is what people have in common who get the same page. Not everybody may see the same. At midnight "today" is another.
type samePage struct {
	sees    string
	day     models.Millis
	address string
	live    bool
}

// page makes a page. All who have it open share it for a moment: it takes a dozen reads and more, and each of them asks every second.
func (h *Handler) page(ctx context.Context, a asked) (*view, error) {
	makes := map[string]func(context.Context, asked) (*view, error){"": h.home, "links": h.link, "sites": h.site}[a.kind]
	return h.pages.get(ctx, samePage{a.may.Sees(), a.now.Day(), a.with(), a.live}, func(ctx context.Context) (*view, error) {
		v, err := makes(ctx, a)
		if err == nil {
			_ = v.render() // whoever shows it renders it again, and says why it cannot be
		}
		return v, err
	})
}

// top is the ranking of a feature's values. All who may look at the site share it.
func (h *Handler) top(ctx context.Context, q stats.TopQuery) (stats.Top, error) {
	key := fmt.Sprintf("%q %q %q %s %q", q.Site, q.Feature, q.Period, q.Metric, q.Features) // fmt sorts maps
	return h.tops.get(ctx, key, func(ctx context.Context) (stats.Top, error) { return h.stats.SiteTop(ctx, q) })
}

// rankedAt says how far a shared ranking reaches, which may be less than the numbers above it, and what it leaves out.
func rankedAt(top stats.Top, now time.Time) string {
	note := partial(top)
	if wasRead(top) && !top.Final && !top.AsOf.Time.IsZero() {
		note = strings.TrimSpace("Counted up to " + reached(top.AsOf, now).When + ". " + note)
	}
	return note
}

// siteTop ranks a feature's values, by the metric of the page or by the one that is kept.
func (h *Handler) siteTop(ctx context.Context, s siteAsked, feature string, whole stats.Site) (*breakdown, error) {
	limit := shown
	if s.q.Get("show") == feature {
		limit = topShown
	}
	q := stats.TopQuery{Site: s.name, Feature: feature, Period: *s.period, Metric: s.metric, Features: maps.Clone(s.features), Limit: topShown + 1}
	top, err := h.top(ctx, q)
	instead := "" // what is ranked, if it is not what the page shows
	var none *stats.NotKept
	if errors.As(err, &none) {
		q.Metric = map[stats.Metric]stats.Metric{stats.Unique: stats.Views, stats.Views: stats.Unique}[q.Metric]
		instead = metricWords[q.Metric] + ": " + none.Asked + " is not kept. "
		top, err = h.top(ctx, q)
	}
	v := &breakdown{ID: "top-" + feature, Heading: feature, Column: "Value", Unit: columnWords[q.Metric], Empty: noRows(top, "No visit of this period had one."), Note: strings.TrimSpace(instead + rankedAt(top, s.now.Time()))}
	if errors.As(err, &none) {
		v.NotKept, v.Note = none, ""
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	if len(top.Rows) > limit {
		if top.Rows = top.Rows[:limit]; limit == shown {
			v.More = s.with("show", feature) + "#" + v.ID
		}
	}
	all := whole.Unique
	if q.Metric == stats.Views {
		all = whole.Views
	}
	if all == nil {
		all = new(int64)
	}
	v.Rows = rows(top.Rows, *all, func(text string) string { return text }, func(value string) string { return s.with(featureParam(feature), value, "show", "") })
	v.CSV = s.api("/top/"+feature, append(s.filterPairs(), "period", s.period.String(), "metric", string(q.Metric), "format", "csv")...)
	return v, nil
}
