package links

import (
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"

	"footfall/models"
	"footfall/producer/answer"
	"footfall/producer/enrich"
)

// Redirect is GET /{short_url}: it answers 302 with the link's target and counts a click. HEAD gets the same answer and counts
// nothing. Nobody may cache the answer, or the next click would not be seen. A link that leads back to the producer is refused. After
// an error it has answered nothing.
func (h *Handler) Redirect(w http.ResponseWriter, r *http.Request) error {
	short := strings.TrimPrefix(r.URL.EscapedPath(), "/") // not unescaped: %61 is not a
	w.Header().Set("Cache-Control", "private, no-store")
	none := &answer.Refusal{Reason: answer.NotFound, Detail: "there is no such link"}
	if !Name(short) {
		return none
	}
	ip := h.o.Enrich.ClientIP(r)
	long, found, err := h.cache.target(r.Context(), ip, short)
	switch {
	case err != nil:
		return h.unavailable(r, err)
	case !found:
		return none
	}
	if err := checkTarget(long); err != nil { // it was not stored by Create
		h.o.Log.Warn("a stored link has a target that may not be followed; answering 404", "short_url", short, "error", err.Error())
		return none
	}
	if h.leadsBack(r, long) {
		return &answer.Refusal{Reason: answer.LinkLoop, Detail: "this link leads back to this server"}
	}
	if r.Method == http.MethodGet {
		c := h.click(r, ip, short)
		h.o.Judge(c, ip)
		h.o.Enrich.Agent(r.UserAgent()).Fill(c)
		h.queue.add(c, ip)
	}
	w.Header().Set("Location", location(long))
	w.WriteHeader(http.StatusFound)
	return nil
}

// leadsBack tells whether a target leads to the address that the visitor asked, or to the base of links. Create cannot know
// that: without links.base_url the base is the Host header of its sender, and with one the producer may have other names. On the
// base's own host only the base's folder is ours.
func (h *Handler) leadsBack(r *http.Request, long string) bool {
	base, asked := h.base(r), h.origin(r)
	return checkLoop(long, base) != nil || host(asked) != host(base) && checkLoop(long, asked) != nil
}

// click is the event of a redirect.
func (h *Handler) click(r *http.Request, ip netip.Addr, short string) *models.Click {
	now := time.Now()
	c := &models.Click{
		V: models.Version, ID: uuid.Must(uuid.NewV7()).String(), ShortURL: short, IP: h.o.Enrich.VisitorIP(ip, now),
		Country: h.o.Enrich.Country(ip, r), TS: models.Millis(now.UnixMilli()),
		Referrer: enrich.RefererHost(r.Referer()), Bot: h.o.Enrich.Bot(r.Header),
	}
	if h.o.KeepUserAgent {
		c.UA = enrich.UserAgent(r)
	}
	return c
}
