package links

import (
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"footfall/models"
	"footfall/producer/answer"
	"footfall/producer/enrich"
)

// Redirect is GET /{short_url}: it answers 302 with the link's target and counts a click. HEAD gets the same answer and counts
// nothing. Nobody may cache the answer, or the next click would not be seen. A link that leads back to the producer gets 404.
func (h *Handler) Redirect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		h.refuse(w, &answer.Refusal{Reason: answer.MethodNotAllowed, Detail: "use GET"})
		return
	}
	short := strings.TrimPrefix(r.URL.EscapedPath(), "/") // not unescaped: %61 is not a
	w.Header().Set("Cache-Control", "private, no-store")
	if !Name(short) {
		h.refuse(w, &answer.Refusal{Reason: answer.NotFound, Detail: "there is no such link"})
		return
	}
	long, found, err := h.cache.target(r.Context(), short)
	switch {
	case err != nil:
		h.unavailable(w, r, err)
		return
	case !found:
		h.refuse(w, &answer.Refusal{Reason: answer.NotFound, Detail: "there is no such link"})
		return
	}
	if err := checkTarget(long); err != nil { // it was not stored by Create
		h.o.Log.Warn("a stored link has a target that may not be followed; answering 404", "short_url", short, "error", err.Error())
		h.refuse(w, &answer.Refusal{Reason: answer.NotFound, Detail: "there is no such link"})
		return
	}
	if h.leadsBack(r, long) {
		h.refuse(w, &answer.Refusal{Reason: answer.LinkLoop, Detail: "this link leads back to this server"})
		return
	}
	if r.Method == http.MethodGet {
		c, ip := h.click(r, short), h.o.Enrich.ClientIP(r)
		h.o.Judge(c, ip)
		h.queue.add(c, ip)
	}
	w.Header().Set("Location", location(long))
	w.WriteHeader(http.StatusFound)
}

// leadsBack tells whether a target leads to the address that the visitor asked, or to the base of links. Create cannot know
// that: without links.base_url the base is the Host header of its sender, and with one the producer may have other names. On the
// base's own host only the base's folder is ours.
func (h *Handler) leadsBack(r *http.Request, long string) bool {
	base, asked := h.base(r), h.origin(r)
	return checkLoop(long, base) != nil || host(asked) != host(base) && checkLoop(long, asked) != nil
}

// click is the event of a redirect.
func (h *Handler) click(r *http.Request, short string) *models.Click {
	ip := h.o.Enrich.ClientIP(r)
	id, err := uuid.NewV7()
	if err != nil {
		id = uuid.New()
	}
	now := time.Now()
	c := &models.Click{
		V: models.Version, ID: id.String(), ShortURL: short, IP: h.o.Enrich.VisitorIP(ip, now),
		Country: h.o.Enrich.Country(ip, r), TS: models.Millis(now.UnixMilli()),
		Referrer: enrich.RefererHost(r.Referer()), Bot: h.o.Enrich.Bot(r.Header),
	}
	if h.o.KeepUserAgent {
		c.UA = agent(r.UserAgent())
	}
	return c
}

// agent cuts a User-Agent to the length that an event may have.
func agent(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
	if len(text) <= models.MaxUA {
		return text
	}
	text = text[:models.MaxUA]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}
