package intake

import (
	"net/http"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"footfall/producer/answer"
	"footfall/producer/assets"
)

// routes is everything that can be asked of the door. Every answer of it is counted, and every refusal by its reason; what is
// no HTTP, or has too large a header, net/http answers by itself.
func (d *door) routes() http.Handler {
	mux := http.NewServeMux()
	post, get := []string{http.MethodPost}, []string{http.MethodGet, http.MethodHead}
	route := func(at string, methods []string, h http.Handler) {
		mux.Handle(at, d.observed(at, d.only(methods, h)))
	}
	wayIn := func(at string, methods []string, h http.Handler) {
		mux.Handle(at, d.observed(at, d.shared(methods, d.only(methods, h))))
	}
	topics := d.cfg.Kafka.Topics
	wayIn("/track", post, http.HandlerFunc(d.takeForm))
	wayIn("/v1/visits", post, d.takeJSON(topics.Visits, d.visits.read))
	wayIn("/v1/clicks", post, d.takeJSON(topics.Clicks, click))
	wayIn("/pixel.gif", []string{http.MethodGet}, http.HandlerFunc(d.takePixel)) // no HEAD: it would count nothing
	if d.links != nil {
		wayIn("/v1/links", post, http.HandlerFunc(d.makeLink))
		route("/{short_url}", get, http.HandlerFunc(d.follow))
	}
	route("/track.js", get, assets.ServeScript(d.visits.plan.Features()))
	route("/openapi.yaml", get, assets.ServeOpenAPI())
	route("/healthz", get, http.HandlerFunc(alive))
	nothing := d.observed("other", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		d.refuse(w, &answer.Refusal{Reason: answer.NotFound, Detail: "POST to /track, /v1/visits or /v1/clicks, or GET /pixel.gif"}, "")
	}))
	mux.Handle("/", nothing)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guard(w, r)
		if r.Method != http.MethodPost && r.ContentLength != 0 { // nobody reads it
			hasten(w)
		}
		if !straight(r.URL.EscapedPath()) {
			nothing.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// These values are shared by all answers. net/http does not change them, and whoever adds a value gets a copy.
var varyHeader, nosniffHeader = []string{"Origin"}, []string{"nosniff"}

// guard tells browsers to take nothing for what it is not called, and, where the door speaks TLS, to come by TLS only for a year.
func guard(w http.ResponseWriter, r *http.Request) {
	w.Header()["X-Content-Type-Options"] = nosniffHeader
	if r.TLS != nil {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// straight tells whether a path is written as it is meant. The mux would redirect the others, such as //track, by itself, and
// most senders lose their event on the way.
func straight(escaped string) bool {
	clean := path.Clean(escaped)
	if strings.HasSuffix(escaped, "/") && clean != "/" {
		clean += "/"
	}
	return strings.HasPrefix(escaped, "/") && clean == escaped
}

// only lets the methods through and answers the others with 405.
func (d *door) only(methods []string, next http.Handler) http.Handler {
	allow := strings.Join(methods, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, m := range methods {
			if r.Method == m {
				next.ServeHTTP(w, r)
				return
			}
		}
		w.Header().Set("Allow", allow)
		d.refuse(w, &answer.Refusal{Reason: answer.MethodNotAllowed, Detail: "use " + allow}, "")
	})
}

// observed counts the answers of a route, and answers for a handler that panics.
func (d *door) observed(route string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil {
				d.metrics.panics.Inc()
				d.log.Error("a handler panicked", "route", route, "panic", p, "stack", string(debug.Stack()))
				d.metrics.refused.WithLabelValues(answer.Internal).Inc()
				if rec.status == 0 {
					answer.Refuse(rec, &answer.Refusal{Reason: answer.Internal}, "")
				}
			}
			d.metrics.requests.WithLabelValues(route, strconv.Itoa(rec.code())).Inc()
		}()
		next.ServeHTTP(rec, r)
	})
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// code is the status that the client gets; net/http sends 200 for a handler that names none.
func (r *recorder) code() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
