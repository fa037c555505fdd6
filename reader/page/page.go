package page

import (
	"context"
	"crypto/sha256"
	"errors"
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
	LinkBreakdown(ctx context.Context, link string, by stats.Breakdown, within stats.Range, limit int) (stats.Shares, error)
	LinkAmounts(ctx context.Context, link string, by stats.Unit, within stats.Range) (stats.Amounts, error)
	LinkLatest(ctx context.Context, link string, day models.Millis) (stats.Clicks, error)
	BusiestLinks(ctx context.Context, day models.Millis, limit int, may func(string) bool) (stats.Top, error)
	BusiestSites(ctx context.Context, month models.Millis, metric stats.Metric, limit int, may func(string) bool) (stats.Top, error)
	Site(ctx context.Context, site string, period stats.Period, features map[string]string) (stats.Site, error)
	SiteSeries(ctx context.Context, q stats.SeriesQuery) (stats.Series, error)
	SiteTop(ctx context.Context, q stats.TopQuery) (stats.Top, error)
}

// May says what somebody may see. access.Holder is one.
type May interface {
	Site(name string) bool
	Link(name string) bool
	ListsSites() bool
	ListsLinks() bool
}

// Options says how pages are made.
type Options struct {
	// Allow tells what the sender of a request may see; its error is shown as it is. Default: everybody may see everything.
	Allow func(*http.Request) (May, error)
	// Producer is the address that the command for a first event is shown with. Default: http://127.0.0.1:8080.
	Producer string
	// Pulse tells how fast events are counted, of all links and sites together. Default: nil, it is not known.
	Pulse func() stats.Minute
	Log   *slog.Logger     // default: slog.Default()
	Now   func() time.Time // default: time.Now
}

type handler struct {
	stats Stats
	Options
	kept remembering
}

// New makes the handler of all pages. It is safe for concurrent use. It answers every path; Handles tells which ones have a page.
func New(from Stats, options Options) http.Handler {
	if options.Allow == nil {
		options.Allow = func(*http.Request) (May, error) { return everything{}, nil }
	}
	if options.Producer == "" {
		options.Producer = "http://127.0.0.1:8080"
	}
	if options.Log == nil {
		options.Log = slog.Default()
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &handler{stats: from, Options: options}
}

// Handles tells whether there is a page at an escaped path. For all others the handler has a page that says so.
func Handles(escaped string) bool {
	kind, _, _ := strings.Cut(strings.TrimPrefix(escaped, "/"), "/")
	switch kind {
	case "", "find", "links", "sites", "assets":
		return strings.HasPrefix(escaped, "/")
	}
	return false
}

type everything struct{}

func (everything) Site(string) bool { return true }
func (everything) Link(string) bool { return true }
func (everything) ListsSites() bool { return true }
func (everything) ListsLinks() bool { return true }

// asked is a request, once it is understood.
type asked struct {
	place
	may  May
	who  [sha256.Size]byte // what they showed for it
	now  models.Millis
	live bool // only the numbers that move
}

// ServeHTTP answers one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	at, ok := parsePlace(r.URL)
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		h.show(w, r, http.StatusMethodNotAllowed, problem("This page can only be read", "Use GET.", nil))
		return
	case at.kind == "assets":
		h.asset(w, r, at.name)
		return
	case !ok:
		h.show(w, r, http.StatusNotFound, problem("There is no such page", "Search for a link or a site, or go to the first page.", nil))
		return
	case at.kind == "find":
		http.Redirect(w, r, found(at.q), http.StatusSeeOther)
		return
	}
	may, err := h.Allow(r)
	if err != nil || !sees(may, at) {
		h.deny(w, r, err)
		return
	}
	v, err := h.page(r.Context(), asked{at, may, credentials(r), models.Millis(h.Now().UnixMilli()), at.q.Get("part") == "live"})
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.show(w, r, http.StatusOK, v)
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

func (h *handler) page(ctx context.Context, a asked) (*view, error) {
	switch a.kind {
	case "links":
		return h.link(ctx, a)
	case "sites":
		return h.site(ctx, a)
	}
	return h.home(ctx, a)
}

// found is where a search leads.
func found(q url.Values) string {
	name, kind := strings.TrimSpace(q.Get("q")), "links"
	if q.Get("kind") == "site" {
		kind = "sites"
	}
	if name == "" {
		kind = ""
	}
	return place{kind: kind, name: name, q: url.Values{"share": q["share"]}}.with()
}

// deny shows why somebody may not see a page.
func (h *handler) deny(w http.ResponseWriter, r *http.Request, err error) {
	detail := "What you have is not for this link or site."
	if err != nil {
		detail = err.Error()
		if _, text, ok := strings.Cut(detail, ": "); ok { // the reason is for machines
			detail = strings.ToUpper(text[:1]) + text[1:] + "."
		}
	}
	v := problem("This page is not open to everybody", detail, nil)
	v.SignIn = true
	h.show(w, r, http.StatusForbidden, v)
}

// fail shows why there is no answer.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var (
		kept      *stats.NotKept
		malformed *stats.Malformed
		much      *stats.TooMuch
		aligned   *stats.NotAligned
	)
	switch {
	case errors.As(err, &kept):
		h.show(w, r, http.StatusUnprocessableEntity, problem("This is not kept", sentence(kept.Asked+" is not kept"), kept.Instead))
	case errors.As(err, &malformed):
		h.show(w, r, http.StatusBadRequest, problem("This address cannot be understood", sentence(malformed.Error()), nil))
	case errors.As(err, &much):
		h.show(w, r, http.StatusUnprocessableEntity, problem("This is too much at once", sentence(much.Error()), nil))
	case errors.As(err, &aligned):
		h.show(w, r, http.StatusUnprocessableEntity, problem("This is not kept", sentence(aligned.Error()), nil))
	case errors.Is(r.Context().Err(), context.Canceled): // the client is gone
	default:
		h.Log.Warn("a page could not be made", "error", err.Error())
		w.Header().Set("Retry-After", "1")
		h.show(w, r, http.StatusServiceUnavailable, problem("The counts cannot be read right now", "The store of counts does not answer. Reload the page to try again.", nil))
	}
}

func sentence(text string) string {
	text = models.Visible(text)
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
