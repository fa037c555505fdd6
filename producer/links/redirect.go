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

// Redirect is GET /{short_url}: 302 to the link's target, and a click. HEAD gets the same answer and counts nothing. The
// answer must not be kept by anybody, or the next click would not be seen. What would lead back to the door is not followed.
func (h *Handler) Redirect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		h.refuse(w, &answer.Refusal{Reason: answer.MethodNotAllowed, Detail: "use GET"})
		return
	}
	short := strings.TrimPrefix(r.URL.EscapedPath(), "/") // an escaped name is another name
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
	if err := checkTarget(long); err != nil { // it was not stored through Create
		h.o.Log.Warn("a stored link has a target that is not followed", "short_url", short, "error", err.Error())
		h.refuse(w, &answer.Refusal{Reason: answer.NotFound, Detail: "there is no such link"})
		return
	}
	if h.leadsBack(r, long) {
		h.refuse(w, &answer.Refusal{Reason: answer.LinkLoop, Detail: "this link leads back to this server"})
		return
	}
	if r.Method == http.MethodGet {
		c := h.click(r, short)
		if !h.o.Refer(c) {
			c.Referrer = ""
		}
		h.queue.add(c, h.o.Enrich.ClientIP(r))
	}
	w.Header().Set("Location", location(long))
	w.WriteHeader(http.StatusFound)
}

// leadsBack tells whether a target is where the visitor asked, or where links begin. Create could not tell: with no base its
// sender says what the door is called, and with one the door may have other names. On the base's own host only the base's
// folder is ours.
func (h *Handler) leadsBack(r *http.Request, long string) bool {
	base, asked := h.base(r), h.origin(r)
	return checkLoop(long, base) != nil || host(asked) != host(base) && checkLoop(long, asked) != nil
}

// click is what a redirect counts as.
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

// agent cuts a User-Agent to what an event may hold.
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
