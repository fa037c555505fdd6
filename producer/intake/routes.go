package intake

import (
	"net/http"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"footfall/internal/httpstatus"
	"footfall/models"
	"footfall/producer/answer"
	"footfall/producer/assets"
)

// routes are all paths of the public address. Every answer is counted by route and status, and every refusal by its reason,
// except for requests that net/http answers by itself: those that are no HTTP or have too large a header.
func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	post, get := []string{http.MethodPost}, []string{http.MethodGet, http.MethodHead}
	route := func(at string, methods []string, h http.Handler) {
		mux.Handle(at, s.observe(at, s.allowMethods(methods, h)))
	}
	corsRoute := func(at string, methods []string, h handler) {
		mux.Handle(at, s.observe(at, s.cors(methods, s.allowMethods(methods, s.refusing(h)))))
	}
	topics := s.cfg.Kafka.Topics
	corsRoute("/track", post, s.receiveForm)
	corsRoute("/v1/visits", post, s.receiveJSON(topics.Visits, s.visits.parseJSON))
	corsRoute("/v1/clicks", post, s.receiveJSON(topics.Clicks, parseClick))
	corsRoute("/pixel.gif", []string{http.MethodGet}, s.receivePixel) // no HEAD: it would count nothing
	if s.links != nil {
		corsRoute("/v1/links", post, s.createLink)
		route("/{short_url}", get, s.refusing(s.followLink))
	}
	route("/track.js", get, assets.ServeScript(s.visits.plan.Features()))
	route("/openapi.yaml", get, assets.ServeOpenAPI())
	route("/healthz", get, http.HandlerFunc(alive))
	notFound := s.observe("other", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.refuse(w, &answer.Refusal{Reason: answer.NotFound, Detail: "POST to /track, /v1/visits or /v1/clicks, or GET /pixel.gif"}, "")
	}))
	mux.Handle("/", notFound)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isCanonical(r.URL.EscapedPath()) {
			notFound.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// handler answers a request, or returns why it is refused.
type handler func(http.ResponseWriter, *http.Request) error

// refusing answers with the refusals that a handler returns.
func (s *server) refusing(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.refuse(w, err, "")
		}
	})
}

// varyHeader is shared by all answers. net/http does not change it, and whoever adds a value gets a copy.
var varyHeader = []string{"Origin"}

// isCanonical tells whether a path is in its canonical form. The mux would redirect others, such as //track, and most senders
// lose their event when they follow a redirect.
func isCanonical(escaped string) bool {
	clean := path.Clean(escaped)
	if strings.HasSuffix(escaped, "/") && clean != "/" {
		clean += "/"
	}
	return strings.HasPrefix(escaped, "/") && clean == escaped
}

// allowMethods answers other methods with 405.
func (s *server) allowMethods(methods []string, next http.Handler) http.Handler {
	allow := strings.Join(methods, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, m := range methods {
			if r.Method == m {
				next.ServeHTTP(w, r)
				return
			}
		}
		w.Header().Set("Allow", allow)
		s.refuse(w, &answer.Refusal{Reason: answer.MethodNotAllowed, Detail: "use " + allow}, "")
	})
}

// cors lets pages of other origins use a route: the origins that some grant lists, or all if anyone may write. It echoes the
// origin and never allows credentials, because the producer uses no cookies. An origin that is longer than what answers repeat
// gets a *.
func (s *server) cors(methods []string, next http.Handler) http.Handler {
	allow := strings.Join(methods, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Vary"] = varyHeader
		origin := r.Header.Get("Origin")
		allowed := origin != "" && s.access.AllowsOrigin(origin)
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
			s.refuse(w, &answer.Refusal{Reason: answer.OriginNotAllowed, Detail: "no site takes events from this origin"}, "")
			return
		default:
			h.Set("Access-Control-Allow-Methods", allow)
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Content-Encoding, Idempotency-Key")
			h.Set("Access-Control-Max-Age", "7200") // the most that Chromium keeps
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// observe counts and times the answers of a route, and answers 500 for a handler that panics.
func (s *server) observe(route string, next http.Handler) http.Handler {
	seconds := s.metrics.seconds.WithLabelValues(route)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		rec := &httpstatus.Recorder{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil {
				s.metrics.panics.Inc()
				s.log.Error("a handler panicked", "route", route, "panic", p, "stack", string(debug.Stack()))
				s.metrics.refused.WithLabelValues(answer.Internal).Inc()
				if rec.Status == 0 {
					answer.Refuse(rec, &answer.Refusal{Reason: answer.Internal}, "")
				}
			}
			s.metrics.requests.WithLabelValues(route, strconv.Itoa(rec.Code())).Inc()
			seconds.Observe(time.Since(began).Seconds())
		}()
		next.ServeHTTP(rec, r)
	})
}
