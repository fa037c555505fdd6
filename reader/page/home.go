package page

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"footfall/models"
	"footfall/reader/stats"
)

type homeView struct {
	Pulse        *pulseView // nil: not known
	Links, Sites *breakdown
	Empty        bool
	Click, Visit string // commands
	Today        string
}

// shown is how many rows the tables of a page have; topShown, how many with "more".
const (
	shown    = 10
	topShown = 100
)

// home is the first page: the busiest links of today, and the busiest sites of this month.
func (h *Handler) home(ctx context.Context, a asked) (*view, error) {
	metric := stats.Unique
	if !slices.Contains(h.stats.Plan().Metrics(), models.MonthUnique) {
		metric = stats.Views
	}
	links, sites, err := h.rankings(ctx, a, metric)
	if err != nil {
		return nil, err
	}
	as := links.AsOf.With(sites.AsOf)
	if !wasRead(links) {
		as = sites.AsOf
	} else if !wasRead(sites) {
		as = links.AsOf
	}
	same := func(name string) string { return name }
	data := homeView{Pulse: h.pulse(a), Click: h.clickCommand("abc"), Visit: h.visitCommand("site1"), Today: a.now.Time().Format("Monday 2 January 2006"), Empty: isEmpty(links) && isEmpty(sites), Links: &breakdown{
		ID: "links", Heading: "Busiest links today", Column: "Link", Unit: "Clicks", Empty: "No link was clicked today (UTC) yet.",
		Rows: rows(links.Rows, 0, same, func(name string) string { return a.to("links", name) }), Note: partial(links),
	}, Sites: &breakdown{
		ID: "sites", Heading: "Busiest sites in " + a.now.Time().Format("January"), Column: "Site", Unit: columnWords[metric],
		Empty: "No site was visited this month yet.", Rows: rows(sites.Rows, 0, same, func(name string) string { return a.to("sites", name) }), Note: partial(sites),
	}}
	if data.Pulse != nil && data.Pulse.Quiet && data.Empty {
		data.Pulse = nil // how to send a first event is more to the point
	}
	return newView(a, "footfall", "home", as, data), nil
}

// rankings reads what somebody may see of the busiest links and sites.
func (h *Handler) rankings(ctx context.Context, a asked, metric stats.Metric) (links, sites stats.Top, err error) {
	kept := metric == stats.Unique || slices.ContainsFunc([]string{models.MonthViews, models.DayViews, models.HourViews},
		func(name string) bool { return slices.Contains(h.stats.Plan().Metrics(), name) })
	group, groupCtx := errgroup.WithContext(ctx)
	if a.may.ListsLinks() {
		group.Go(func() (err error) {
			links, err = h.stats.BusiestLinks(groupCtx, a.now, shown, a.may.Link)
			return err
		})
	}
	if a.may.ListsSites() && kept {
		group.Go(func() (err error) {
			sites, err = h.stats.BusiestSites(groupCtx, a.now, metric, shown, a.may.Site)
			return err
		})
	}
	err = group.Wait()
	return links, sites, err
}

// wasRead tells whether a ranking was asked for: it is left out where somebody may not list, or where it is not kept.
func wasRead(top stats.Top) bool { return top.Period.Unit != "" }

// isEmpty tells that there is nothing to rank. Of a list that was not read to its end nobody knows.
func isEmpty(top stats.Top) bool { return top.Values == 0 && (top.Complete || !wasRead(top)) }

// partial says what a ranking leaves out.
func partial(top stats.Top) string {
	if !wasRead(top) || top.Complete {
		return ""
	}
	if top.Values == 0 {
		return "There are too many names to look through all of them."
	}
	return "Ranked are the first " + count(int64(top.Values), "name") + "; there are more, and a busier one may be missing."
}
