package intake

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"footfall/models"
)

// Reasons of the door itself. Those about what an event says come from models and are all answered with 400.
const (
	badForm            = "bad_form"
	badGzip            = "bad_gzip"
	repeatedField      = models.ReasonRepeatedField
	conflictingID      = "conflicting_id"
	emptyBatch         = "empty_batch"
	timestampInFuture  = "timestamp_in_future"
	tooOld             = "too_old"
	incompleteBody     = "incomplete_body"
	missingKey         = "missing_key"
	wrongKey           = "wrong_key"
	originNotAllowed   = "origin_not_allowed"
	notFound           = "not_found"
	methodNotAllowed   = "method_not_allowed"
	bodyTimeout        = "body_timeout"
	bodyTooLarge       = "body_too_large"
	tooManyEvents      = "too_many_events"
	unsupportedMedia   = "unsupported_media_type"
	rateLimited        = "rate_limited"
	tooManyNewKeys     = "too_many_new_keys"
	tooManyNewVisitors = "too_many_new_visitors"
	internalError      = "internal"
	kafkaUnavailable   = "kafka_unavailable"
	overloaded         = "overloaded"
)

// prefetched is no refusal, but why a visit is left out.
const prefetched = "prefetch"

// statuses maps reasons to HTTP. What is not here is the sender's mistake: 400.
var statuses = map[string]int{
	missingKey:         http.StatusUnauthorized,
	wrongKey:           http.StatusForbidden,
	originNotAllowed:   http.StatusForbidden,
	notFound:           http.StatusNotFound,
	methodNotAllowed:   http.StatusMethodNotAllowed,
	bodyTimeout:        http.StatusRequestTimeout,
	bodyTooLarge:       http.StatusRequestEntityTooLarge,
	tooManyEvents:      http.StatusRequestEntityTooLarge,
	unsupportedMedia:   http.StatusUnsupportedMediaType,
	rateLimited:        http.StatusTooManyRequests,
	tooManyNewKeys:     http.StatusTooManyRequests,
	tooManyNewVisitors: http.StatusTooManyRequests,
	internalError:      http.StatusInternalServerError,
	kafkaUnavailable:   http.StatusServiceUnavailable,
	overloaded:         http.StatusServiceUnavailable,
}

// soon is what a 503 tells the sender to wait. Short: the door notices within a second that Kafka is back.
const soon = time.Second

// refusal is an error that has an answer. The reason is for machines and stays as it is; the detail is for people,
// and repeats no more than an excerpt of what was sent.
type refusal struct {
	reason, detail string
	after          time.Duration // when to try again, of a 429
	cause          error         // for the log; not shown to the client
}

func (r *refusal) Error() string {
	if r.detail == "" {
		return r.reason
	}
	return r.reason + ": " + r.detail
}

func (r *refusal) Unwrap() error { return r.cause }

// status is the refusal in HTTP.
func (r *refusal) status() int {
	if status, ok := statuses[r.reason]; ok {
		return status
	}
	return http.StatusBadRequest
}

// wait is when to send again; 0 where sending the same again is of no use.
func (r *refusal) wait() time.Duration {
	switch r.status() {
	case http.StatusServiceUnavailable:
		return soon
	case http.StatusTooManyRequests:
		return max(r.after, soon)
	}
	return 0
}

// retryAfter tells the sender to wait, in whole seconds, rounded up.
func retryAfter(h http.Header, wait time.Duration) {
	if wait > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
	}
}

// refusalOf finds the answer to any error. One that nobody foresaw is the door's own fault.
func refusalOf(err error) *refusal {
	var known *refusal
	if errors.As(err, &known) {
		return known
	}
	var invalid *models.Invalid
	if errors.As(err, &invalid) {
		return &refusal{reason: invalid.Reason, detail: invalid.Detail}
	}
	return &refusal{reason: internalError, cause: err}
}

// refused is the body of every other answer. ID is there when the event was fine but could not be stored: sent again
// under that id it is not counted twice, even if this attempt reached Kafka after all.
type refused struct {
	Error  string `json:"error"`
	Detail string `json:"detail,omitempty"`
	ID     string `json:"id,omitempty"`
}

func refuse(w http.ResponseWriter, why *refusal, id string) {
	retryAfter(w.Header(), why.wait())
	if why.reason == missingKey {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	answer(w, why.status(), refused{Error: why.reason, Detail: why.detail, ID: id})
}

func answer(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // answers hold text and numbers only
	}
	write(w, status, text)
}

// These are shared by all answers. Nobody changes them: whoever adds to them gets a copy.
var jsonHeader, varyHeader, nosniffHeader = []string{"application/json"}, []string{"Origin"}, []string{"nosniff"}

// write answers with JSON, and a line end for whoever looks at it on a terminal.
func write(w http.ResponseWriter, status int, text []byte) {
	w.Header()["Content-Type"] = jsonHeader
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a client that hung up is nobody's error
}
