package intake

import (
	"encoding/json"
	"errors"
	"net/http"

	"footfall/models"
)

// Reasons of the door itself. Those about what an event says come from models and are all answered with 400.
const (
	badForm          = "bad_form"
	repeatedField    = "repeated_field"
	incompleteBody   = "incomplete_body"
	notFound         = "not_found"
	methodNotAllowed = "method_not_allowed"
	bodyTimeout      = "body_timeout"
	bodyTooLarge     = "body_too_large"
	unsupportedMedia = "unsupported_media_type"
	internalError    = "internal_error"
	kafkaUnavailable = "kafka_unavailable"
	overloaded       = "overloaded"
)

// statuses maps reasons to HTTP. What is not here is the sender's mistake: 400.
var statuses = map[string]int{
	notFound:         http.StatusNotFound,
	methodNotAllowed: http.StatusMethodNotAllowed,
	bodyTimeout:      http.StatusRequestTimeout,
	bodyTooLarge:     http.StatusRequestEntityTooLarge,
	unsupportedMedia: http.StatusUnsupportedMediaType,
	internalError:    http.StatusInternalServerError,
	kafkaUnavailable: http.StatusServiceUnavailable,
	overloaded:       http.StatusServiceUnavailable,
}

// retryAfter is what a 503 tells the sender to wait, in seconds. Short: the door notices within a second that Kafka is
// back.
const retryAfter = "1"

// refusal is an error that has an answer. The reason is for machines and stays as it is; the detail is for people.
type refusal struct {
	reason, detail string
	cause          error // for the log; not shown to the client
}

func (r *refusal) Error() string {
	if r.detail == "" {
		return r.reason
	}
	return r.reason + ": " + r.detail
}

func (r *refusal) Unwrap() error { return r.cause }

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

// accepted is the body of a 202.
type accepted struct {
	ID string `json:"id"`
}

// refused is the body of every other answer. ID is there when the event was fine but could not be stored: sent again
// under that id it is not counted twice, even if this attempt reached Kafka after all.
type refused struct {
	Error  string `json:"error"`
	Detail string `json:"detail,omitempty"`
	ID     string `json:"id,omitempty"`
}

func refuse(w http.ResponseWriter, why *refusal, id string) {
	status, ok := statuses[why.reason]
	if !ok {
		status = http.StatusBadRequest
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	answer(w, status, refused{Error: why.reason, Detail: why.detail, ID: id})
}

func answer(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // accepted and refused hold strings only
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a client that hung up is nobody's error
}
