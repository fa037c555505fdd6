package intake

import (
	"net/http"
	"strings"

	"footfall/models"
	"footfall/producer/answer"
)

// shared lets pages of other origins use a route: those that some site allows, or all if the door is open. The origin is
// echoed, and credentials are never allowed: the door knows no cookies. One that is longer than answers repeat gets a *.
func (d *door) shared(methods []string, next http.Handler) http.Handler {
	allow := strings.Join(methods, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Vary"] = varyHeader
		origin := r.Header.Get("Origin")
		allowed := origin != "" && d.access.allowsOrigin(origin)
		if allowed {
			if len(origin) > models.MaxExcerpt {
				h.Set("Access-Control-Allow-Origin", "*")
			} else {
				h.Set("Access-Control-Allow-Origin", origin)
			}
			h.Set("Access-Control-Expose-Headers", "Retry-After")
		}
		if r.Method != http.MethodOptions {
			next.ServeHTTP(w, r)
			return
		}
		h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
		h.Set("Allow", allow)
		switch {
		case origin == "":
		case !allowed:
			d.refuse(w, &answer.Refusal{Reason: answer.OriginNotAllowed, Detail: "no site takes events from this origin"}, "")
			return
		default:
			h.Set("Access-Control-Allow-Methods", allow)
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Content-Encoding, Idempotency-Key")
			h.Set("Access-Control-Max-Age", "7200") // the most that Chromium keeps
		}
		w.WriteHeader(http.StatusNoContent)
	})
}
