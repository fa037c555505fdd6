package answer

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
)

// MediaType is the media type of a request: one of those wanted, in UTF-8. A request without Content-Type has the first of them.
func MediaType(h http.Header, wanted ...string) (string, error) {
	given := h.Get("Content-Type")
	if given == "" {
		return wanted[0], nil
	}
	if slices.Contains(wanted, given) { // the common case needs no parsing
		return given, nil
	}
	got, params, err := mime.ParseMediaType(given)
	if err != nil || !slices.Contains(wanted, got) {
		return "", &Refusal{Reason: UnsupportedMedia, Detail: "Content-Type must be " + strings.Join(wanted, " or ")}
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return "", &Refusal{Reason: UnsupportedMedia, Detail: "charset must be utf-8"}
	}
	return got, nil
}

// TooLarge refuses a body that is larger than it may be.
func TooLarge(limit int64) error {
	return &Refusal{Reason: BodyTooLarge, Detail: fmt.Sprintf("at most %d bytes", limit)}
}

// OfRead turns an error of reading a body into a refusal.
func OfRead(err error, limit int64) error {
	var known *Refusal
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &over):
		return TooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Refusal{Reason: BodyTimeout, Detail: "the body took too long", Cause: err}
	}
	return &Refusal{Reason: IncompleteBody, Detail: "the body ended early or is malformed", Cause: err}
}
