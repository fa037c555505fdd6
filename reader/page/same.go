package page

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"footfall/reader/stats"
)

// samePage is what people have in common who get the same page. Not everybody may see the same.
type samePage struct {
	who     [sha256.Size]byte
	address string
	live    bool
}

// page makes a page. All who have it open share it for a moment: it takes a dozen reads and more, and each of them asks every second.
func (h *Handler) page(ctx context.Context, a asked) (*view, error) {
	makes := map[string]func(context.Context, asked) (*view, error){"": h.home, "links": h.link, "sites": h.site}[a.kind]
	return h.pages.get(ctx, samePage{a.who, a.with(), a.live}, func(ctx context.Context) (*view, error) { return makes(ctx, a) })
}

// credentials is what tells people apart: a read key or a share link, as a hash.
func credentials(r *http.Request) [sha256.Size]byte {
	return sha256.Sum256([]byte(r.Header.Get("Authorization") + "\n" + r.URL.Query().Get("share")))
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
