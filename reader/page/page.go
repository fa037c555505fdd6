package page

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"footfall/models"
	"footfall/reader/stats"
)

// Stats is whom the pages ask. *stats.Reader is one.
type Stats interface {
	Plan() *models.Plan
	Link(ctx context.Context, link string) (stats.Link, error)
	LinkSeries(ctx context.Context, link string, by stats.Unit, within stats.Range) (stats.Series, error)
	LinkBreakdown(ctx context.Context, link, by string, within stats.Range, limit int) (stats.Shares, error)
	LinkAmounts(ctx context.Context, link string, by stats.Unit, within stats.Range) (stats.Amounts, error)
	LinkLatest(ctx context.Context, link string, day models.Millis) (stats.Clicks, error)
	BusiestLinks(ctx context.Context, day models.Millis, limit int, of []models.NameRange) (stats.Top, error)
	BusiestSites(ctx context.Context, month models.Millis, metric stats.Metric, limit int, of []models.NameRange) (stats.Top, error)
	Site(ctx context.Context, site string, period stats.Period, features map[string]string) (stats.Site, error)
	SiteSeries(ctx context.Context, q stats.SeriesQuery) (stats.Series, error)
	SiteTop(ctx context.Context, q stats.TopQuery) (stats.Top, error)
}

// May says what somebody may see. access.Holder is one.
type May interface {
	Site(name string) bool
	Link(name string) bool
	Sites() []models.NameRange // whose names may be listed
	Links() []models.NameRange
	All() bool // every site and every link
	// Shares is the one that a share link is for, which then goes with every address on the page; both empty: there is no share link.
	Shares() (site, link string)
	// Sees is a text that is the same only for those who may see the same.
	Sees() string
}

// Options says how pages are made. All fields are needed but those with a default.
type Options struct {
	// Allow tells what the sender of a request may see, or why it may see nothing.
	Allow func(*http.Request) (May, *Denied)
	// Take takes a place for reading from the store, or refuses the request and returns false. It is asked after Allow.
	Take func(http.ResponseWriter, *http.Request) (release func(), ok bool)
	// Producer is the address that the commands for a first event are shown with. Default: http://127.0.0.1:8080.
	Producer func() string
	// WriteKey tells that the producer wants a key, so that the commands have a place for one.
	WriteKey bool
	// Pulse tells how fast events are counted, of all links and sites together. The first page shows it to those who may see everything.
	// Default: nil, it is not known.
	Pulse func() stats.Minute
	// Refused is told of every error that a page is refused with.
	Refused func(context.Context, error)
	// Panicked is told of a panic in a read for which no request waits; it is called while the stack is there.
	Panicked func(any)
	Log      *slog.Logger
	Now      func() time.Time
}

// Handler answers with pages. It is safe for concurrent use.
type Handler struct {
	stats Stats
	Options
	pages sharing[samePage, *view]
	tops  sharing[string, stats.Top] // of sites
}

// New makes the handler of all pages. It answers every path; Handles tells which ones have a page.
func New(from Stats, options Options) *Handler {
	if options.Producer == nil {
		options.Producer = func() string { return "http://127.0.0.1:8080" }
	}
	// A ranking of 10,000 values keeps the store busy for a tenth of a second and more. A page asks for it again every 15 s only.
	return &Handler{stats: from, Options: options,
		pages: sharing[samePage, *view]{grace: pageGrace, caught: options.Panicked, size: func(v *view) int { return len(v.plain) + len(v.zipped) }},
		tops:  sharing[string, stats.Top]{pause: 30, grace: rankGrace, caught: options.Panicked, size: func(top stats.Top) int { return len(fmt.Sprint(top.Rows)) }},
	}
}

// Handles tells whether there is a page at an escaped path. For all others the handler has a page that says so.
func Handles(escaped string) bool {
	kind, _, _ := strings.Cut(strings.TrimPrefix(escaped, "/"), "/")
	_, page := known[kind]
	return strings.HasPrefix(escaped, "/") && (page || kind == "assets")
}

// asked is a request, once it is understood.
type asked struct {
	place
	may  May
	now  models.Millis
	live bool // only the numbers that move
}

// ServeHTTP answers one request. Who may not see a page is told nothing else about it.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	at, err := parsePlace(r.URL, h.stats.Plan().Features())
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		h.show(w, r, http.StatusMethodNotAllowed, problem("This page can only be read", "Use GET."))
		return
	case at.kind == "assets":
		h.asset(w, r, at.name)
		return
	case errors.Is(err, errNoPage):
		h.show(w, r, http.StatusNotFound, problem("There is no such page", "Search for a link or a site, or go to the first page."))
		return
	case at.kind == "find" && err == nil:
		to := found(at.q)
		if err = to.checkName(); err == nil {
			http.Redirect(w, r, to.with(), http.StatusSeeOther)
			return
		}
	}
	may, denied := h.Allow(r)
	switch {
	case at.kind == "find":
	case denied != nil:
		h.deny(w, r, denied)
		return
	case !sees(may, at):
		h.deny(w, r, &Denied{Status: http.StatusForbidden, Detail: "what you have is not for this link or site"})
		return
	}
	var v *view
	if err == nil {
		if site, link := may.Shares(); site+link == "" {
			at.q.Del("share") // it lets them see nothing: the page is that of everybody who sees the same
		}
		release, ok := h.Take(w, r)
		if !ok {
			return
		}
		v, err = h.read(r.Context(), asked{at, may, models.Millis(h.Now().UnixMilli()), at.q.Get("part") == "live"}, release)
	}
	if err != nil {
		h.fail(w, r, at, err)
		return
	}
	h.show(w, r, http.StatusOK, v)
}

// read makes the page that is asked for, and gives the place back before the client reads it.
func (h *Handler) read(ctx context.Context, a asked, release func()) (*view, error) {
	defer release()
	return h.page(ctx, a)
}

// sees tells whether somebody may see a page. Everybody who may see anything sees the first one, with what they may see.
func sees(may May, at place) bool {
	switch at.kind {
	case "links":
		return may.Link(at.name)
	case "sites":
		return may.Site(at.name)
	}
	return true
}

// found is where a search leads.
func found(q url.Values) place {
	name, kind := strings.TrimSpace(q.Get("q")), "links"
	if q.Get("kind") == "site" {
		kind = "sites"
	}
	if name == "" {
		kind = ""
	}
	return place{kind: kind, name: name, q: url.Values{"share": q["share"]}}
}
