package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"footfall/models"
	"footfall/reader/access"
	"footfall/reader/page"
	"footfall/reader/params"
	"footfall/reader/stats"
)

// Reasons of refusals. They are part of the API and of the metric footfall_reader_refused_total, so they never change. Further ones name
// their field: missing_short_url, short_url_too_long, short_url_bad_utf8, short_url_has_nul, bad_from; they are 400.
const (
	originNotAllowed = "origin_not_allowed"
	notFound         = "not_found"
	unknownFeature   = "unknown_feature"
	methodNotAllowed = "method_not_allowed"
	notAcceptable    = "not_acceptable"
	wrongHost        = "wrong_host"
	notKept          = "not_kept"
	notAligned       = "not_aligned"
	tooMuch          = "too_much"
	internal         = "internal"
	timedOut         = "timed_out"
	storeUnavailable = "store_unavailable"
	overloaded       = "overloaded"
	needsHTTP11      = "needs_http_1_1"
)

// statuses maps reasons to HTTP statuses. A reason that is not listed is a mistake in the request: 400. Nobody may change it.
var statuses = map[string]int{
	access.MissingKey:   http.StatusUnauthorized,
	access.WrongKey:     http.StatusForbidden,
	access.BadShare:     http.StatusForbidden,
	access.ShareExpired: http.StatusForbidden,
	originNotAllowed:    http.StatusForbidden,
	notFound:            http.StatusNotFound,
	unknownFeature:      http.StatusNotFound,
	methodNotAllowed:    http.StatusMethodNotAllowed,
	notAcceptable:       http.StatusNotAcceptable,
	wrongHost:           http.StatusMisdirectedRequest,
	notKept:             http.StatusUnprocessableEntity,
	notAligned:          http.StatusUnprocessableEntity,
	tooMuch:             http.StatusUnprocessableEntity,
	internal:            http.StatusInternalServerError,
	timedOut:            http.StatusServiceUnavailable,
	storeUnavailable:    http.StatusServiceUnavailable,
	overloaded:          http.StatusServiceUnavailable,
	needsHTTP11:         http.StatusHTTPVersionNotSupported,
}

// retryAfter is the Retry-After of every 503, in seconds.
const retryAfter = 1

// refusal is an error that has an answer.
type refusal struct {
	Reason  string   `json:"error"`             // for machines
	Detail  string   `json:"detail,omitempty"`  // for people; it repeats no more than an excerpt of what was sent
	Instead []string `json:"instead,omitempty"` // what can be asked instead
	cause   error    // for the log; clients never see it
}

func (r *refusal) Error() string { return r.Reason + ": " + r.Detail }

func (r *refusal) status() int {
	if status, ok := statuses[r.Reason]; ok {
		return status
	}
	return http.StatusBadRequest
}

// errTimeout ends the context of a request that takes too long.
var errTimeout = errors.New("http.timeout or http.stream_timeout has passed")

// refusalOf finds the refusal in an error of a handler or of the store.
func refusalOf(ctx context.Context, err error) *refusal {
	var (
		known     *refusal
		wrong     *params.Wrong
		denied    *access.Denied
		unseen    *page.Denied
		kept      *stats.NotKept
		aligned   *stats.NotAligned
		malformed *stats.Malformed
		much      *stats.TooMuch
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &wrong):
		return &refusal{Reason: wrong.Reason, Detail: wrong.Detail}
	case errors.As(err, &denied):
		return &refusal{Reason: denied.Reason, Detail: denied.Detail}
	case errors.As(err, &unseen):
		return &refusal{Reason: access.WrongKey, Detail: unseen.Detail}
	case errors.As(err, &kept):
		return &refusal{Reason: notKept, Detail: kept.Asked + " is not kept", Instead: kept.Instead}
	case errors.As(err, &aligned):
		return &refusal{Reason: notAligned, Detail: aligned.Error(), Instead: []string{rangeQuery(aligned.Aligned)}}
	case errors.As(err, &malformed):
		field, _, _ := strings.Cut(malformed.Field, ",") // the first of several
		return &refusal{Reason: "bad_" + field, Detail: malformed.Error()}
	case errors.As(err, &much):
		return &refusal{Reason: tooMuch, Detail: much.Error()}
	case errors.Is(context.Cause(ctx), errTimeout):
		return &refusal{Reason: timedOut, Detail: "the answer took too long: ask for less at once, or try again", cause: err}
	}
	return &refusal{Reason: storeUnavailable, Detail: "the store of counts does not answer: try again", cause: err}
}

// rangeQuery is a range as the parameters of a request.
func rangeQuery(r stats.Range) string {
	var ends []string
	if r.From != 0 {
		ends = append(ends, "from="+shortest(r.From))
	}
	if r.To != 0 {
		ends = append(ends, "to="+shortest(r.To))
	}
	return strings.Join(ends, "&")
}

// shortest writes the start of an hour, as a day if it is midnight.
func shortest(t models.Millis) string {
	if t == t.Day() {
		return t.Time().Format(models.Daily)
	}
	return t.Time().Format("2006-01-02T15")
}

// count counts a refusal, and logs what its client does not see.
func (s *Server) count(why *refusal) {
	s.metrics.refused.WithLabelValues(why.Reason).Inc()
	if why.cause != nil {
		s.cfg.Log.Warn("a request was not answered", "reason", why.Reason, "error", why.cause.Error())
	}
}

// refuse answers with a refusal: JSON, or a page for whoever asked for one.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, why *refusal) {
	s.count(why)
	if page.Handles(r.URL.EscapedPath()) {
		s.pages.Refuse(w, r, why.status(), why.Detail)
		return
	}
	h := w.Header()
	if why.status() == http.StatusServiceUnavailable {
		h.Set("Retry-After", strconv.Itoa(retryAfter))
	}
	if why.Reason == access.MissingKey {
		h.Set("WWW-Authenticate", "Bearer")
	}
	text, err := json.Marshal(why)
	if err != nil {
		panic(err) // it is text only
	}
	text = bytes.ReplaceAll(text, []byte(`\u0026`), []byte("&")) // people read it, and no browser takes it for HTML
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(why.status())
	_, _ = w.Write(append(text, '\n')) // if the client hung up there is nobody to tell
}
