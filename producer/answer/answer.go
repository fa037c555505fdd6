// Package answer writes what the producer answers over HTTP. Refusal is the one error type that has an answer: admission,
// publisher, links and intake return it, and Of finds it in any error.
package answer

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"footfall/models"
)

// Reasons of refusals. They are part of the API and of the metric footfall_producer_refused_total, so they never change. The
// reasons why an event is invalid come from models (models.Invalid) and are all answered with 400.
const (
	BadForm            = "bad_form"
	BadGzip            = "bad_gzip"
	RepeatedField      = models.ReasonRepeatedField
	ConflictingID      = "conflicting_id"
	EmptyBatch         = "empty_batch"
	TimestampInFuture  = models.ReasonTimestampInFuture
	TooOld             = "too_old"
	IncompleteBody     = "incomplete_body"
	MissingKey         = "missing_key"
	WrongKey           = "wrong_key"
	OriginNotAllowed   = "origin_not_allowed"
	NotFound           = "not_found"
	LinkLoop           = "link_loop"
	MethodNotAllowed   = "method_not_allowed"
	BodyTimeout        = "body_timeout"
	ShortURLTaken      = "short_url_taken"
	BodyTooLarge       = "body_too_large"
	TooManyEvents      = "too_many_events"
	UnsupportedMedia   = "unsupported_media_type"
	RateLimited        = "rate_limited"
	TooManyNewKeys     = "too_many_new_keys"
	TooManyNewVisitors = "too_many_new_visitors"
	Internal           = "internal"
	KafkaUnavailable   = "kafka_unavailable"
	StoreUnavailable   = "store_unavailable"
	Overloaded         = "overloaded"
)

// Statuses maps reasons to HTTP statuses. A reason that is not listed is the sender's mistake: 400. Nobody may change it.
var Statuses = map[string]int{
	MissingKey:         http.StatusUnauthorized,
	WrongKey:           http.StatusForbidden,
	OriginNotAllowed:   http.StatusForbidden,
	NotFound:           http.StatusNotFound,
	LinkLoop:           http.StatusNotFound,
	MethodNotAllowed:   http.StatusMethodNotAllowed,
	BodyTimeout:        http.StatusRequestTimeout,
	ShortURLTaken:      http.StatusConflict,
	BodyTooLarge:       http.StatusRequestEntityTooLarge,
	TooManyEvents:      http.StatusRequestEntityTooLarge,
	UnsupportedMedia:   http.StatusUnsupportedMediaType,
	RateLimited:        http.StatusTooManyRequests,
	TooManyNewKeys:     http.StatusTooManyRequests,
	TooManyNewVisitors: http.StatusTooManyRequests,
	Internal:           http.StatusInternalServerError,
	KafkaUnavailable:   http.StatusServiceUnavailable,
	StoreUnavailable:   http.StatusServiceUnavailable,
	Overloaded:         http.StatusServiceUnavailable,
}

// retryDelay is the Retry-After of every 503. It is short because the publisher notices within a second that Kafka is back.
const retryDelay = time.Second

// Refusal is an error that has an answer.
type Refusal struct {
	Reason  string        // for machines
	Detail  string        // for people; it repeats no more than an excerpt of what was sent
	After   time.Duration // of a 429: when the sender may try again
	LongURL string        // of ShortURLTaken: where the existing link leads
	Cause   error         // for the log; clients never see it
}

func (r *Refusal) Error() string {
	if r.Detail == "" {
		return r.Reason
	}
	return r.Reason + ": " + r.Detail
}

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Cause }

// Status is the HTTP status of the reason.
func (r *Refusal) Status() int {
	if status, ok := Statuses[r.Reason]; ok {
		return status
	}
	return http.StatusBadRequest
}

// RetryAfter is how long the sender should wait before it sends again. It is 0 where sending the same again is of no use.
func (r *Refusal) RetryAfter() time.Duration {
	switch r.Status() {
	case http.StatusServiceUnavailable:
		return retryDelay
	case http.StatusTooManyRequests:
		return max(r.After, retryDelay)
	}
	return 0
}

// Of finds the refusal in an error. An error that holds neither a Refusal nor a models.Invalid is a fault of ours: Internal.
func Of(err error) *Refusal {
	var known *Refusal
	if errors.As(err, &known) {
		return known
	}
	var invalid *models.Invalid
	if errors.As(err, &invalid) {
		return &Refusal{Reason: invalid.Reason, Detail: invalid.Detail}
	}
	return &Refusal{Reason: Internal, Cause: err}
}

// refused is the body of every refusal.
type refused struct {
	Error   string `json:"error"`
	Detail  string `json:"detail,omitempty"`
	ID      string `json:"id,omitempty"`
	LongURL string `json:"long_url,omitempty"`
}

// Refuse answers with a refusal. Pass the event's id where the event is valid but could not be stored: if its sender sends it
// again under that id it counts once, even if this attempt reached Kafka after all.
func Refuse(w http.ResponseWriter, why *Refusal, id string) {
	SetRetryAfter(w.Header(), why.RetryAfter())
	if why.Reason == MissingKey {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	JSON(w, why.Status(), refused{Error: why.Reason, Detail: why.Detail, ID: id, LongURL: why.LongURL})
}

// SetRetryAfter sets the Retry-After header in whole seconds, rounded up. It sets none for 0.
func SetRetryAfter(h http.Header, wait time.Duration) {
	if wait > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
	}
}

// JSON answers with a body that encoding/json can encode; it panics if it cannot.
func JSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // answers hold text and numbers only
	}
	Text(w, status, text)
}

// jsonHeader is shared by all answers. net/http does not change it, and whoever adds a value gets a copy.
var jsonHeader = []string{"application/json"}

// Text answers with encoded JSON and a line end, for people who look at it on a terminal.
func Text(w http.ResponseWriter, status int, json []byte) {
	w.Header()["Content-Type"] = jsonHeader
	w.WriteHeader(status)
	_, _ = w.Write(append(json, '\n')) // if the client hung up there is nobody to tell
}
