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

// busiest are the rankings of the first page. They are shared by those who have the same to show for themselves: not everybody may see the
// same.
type busiest struct{ links, sites stats.Top }

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
