package page

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"footfall/models"
	"footfall/reader/stats"
)

type homeView struct {
	Pulse        *pulseView // nil: not known
	Links, Sites *breakdown // nil: they may not list them, or it is not kept
	Shared       *sharedView
	Empty        bool
	Click, Visit string // commands
	Today        string
}

// sharedView is what a share link is for.
type sharedView struct {
	Kind string // "site", "link"
	choice
}

// shown is how many rows the tables of a page have; topShown, how many with "more".
const (
	shown    = 10
	topShown = 100
)

// home is the first page: the busiest links of today, and the busiest sites of this month.
func (h *Handler) home(ctx context.Context, a asked) (*view, error) {
	metric := stats.Unique
	if !stats.Keeps(h.stats.Plan(), metric, stats.Month) {
		metric = stats.Views
	}
	links, sites, err := h.rankings(ctx, a, metric)
	if err != nil {
		return nil, err
	}
	data := homeView{Pulse: h.pulse(a), Click: h.clickCommand("abc"), Visit: h.visitCommand("site1"), Today: a.now.Time().Format("Monday 2 January 2006"), Shared: sharedOf(a),
		Empty: a.may.All() && isEmpty(links) && (isEmpty(sites) || !wasRead(sites)),
		Links: busiestOf(a, links, breakdown{ID: "links", Heading: "Busiest links today", Column: "Link", Unit: "Clicks", Empty: "No link%s was clicked today (UTC) yet."}),
		Sites: busiestOf(a, sites, breakdown{ID: "sites", Heading: "Busiest sites in " + a.now.Time().Format("January"), Column: "Site", Unit: columnWords[metric], Empty: "No site%s was visited this month yet."})}
	if data.Pulse != nil && data.Pulse.Quiet && data.Empty {
		data.Pulse = nil // how to send a first event is more to the point
	}
	v := newView(a, "footfall", "home", stats.AsOf{}, data)
	switch {
	case wasRead(links) && wasRead(sites):
		v.AsOf = reached(links.AsOf.With(sites.AsOf), a.now.Time())
	case wasRead(links):
		v.AsOf = reached(links.AsOf, a.now.Time())
	case wasRead(sites):
		v.AsOf = reached(sites.AsOf, a.now.Time())
	default:
		v.AsOf, v.LiveURL = nil, "" // there is no number
	}
	return v, nil
}

// busiestOf completes the card of a ranking, whose ID is the kind of its pages; nil if it was not read.
func busiestOf(a asked, top stats.Top, v breakdown) *breakdown {
	if !wasRead(top) {
		return nil
	}
	seen := ""
	if !a.may.All() {
		seen = " that you may see"
	}
	v.Empty, v.Note = noRows(top, fmt.Sprintf(v.Empty, seen)), partial(top)
	v.Rows = rows(top.Rows, 0, func(name string) string { return name }, func(name string) string { return a.to(v.ID, name) })
	return &v
}

// sharedOf leads the holder of a share link to its page; nil for all others.
func sharedOf(a asked) *sharedView {
	site, link := a.may.Shares()
	switch {
	case site != "":
		return &sharedView{"site", choice{Label: clip(models.Visible(site)), Href: a.to("sites", site)}}
	case link != "":
		return &sharedView{"link", choice{Label: clip(models.Visible(link)), Href: a.to("links", link)}}
	}
	return nil
}

// rankings reads what somebody may see of the busiest links and sites.
func (h *Handler) rankings(ctx context.Context, a asked, metric stats.Metric) (links, sites stats.Top, err error) {
	group, groupCtx := errgroup.WithContext(ctx)
	if len(a.may.Links()) > 0 {
		group.Go(func() (err error) {
			links, err = h.stats.BusiestLinks(groupCtx, a.now, shown, a.may.Links())
			return err
		})
	}
	if len(a.may.Sites()) > 0 && stats.Keeps(h.stats.Plan(), metric, stats.Month) {
		group.Go(func() (err error) {
			sites, err = h.stats.BusiestSites(groupCtx, a.now, metric, shown, a.may.Sites())
			return err
		})
	}
	err = group.Wait()
	return links, sites, err
}

// wasRead tells whether a ranking was asked for: it is left out where somebody may not list, or where it is not kept.
func wasRead(top stats.Top) bool { return top.Period.Unit != "" }

// isEmpty tells that there is nothing to rank. Of a list that was not read, or not to its end, nobody knows.
func isEmpty(top stats.Top) bool { return wasRead(top) && top.Values == 0 && top.Complete }

// noRows says why a ranking has no rows.
func noRows(top stats.Top, counted string) string {
	if !top.Complete {
		return "Nothing was counted of the names that were read."
	}
	return counted
}

// partial says what a ranking leaves out.
func partial(top stats.Top) string {
	if !wasRead(top) || top.Complete {
		return ""
	}
	return "Ranked are the first " + count(int64(top.Values), "name") + "; there are more, and a busier one may be missing."
}
