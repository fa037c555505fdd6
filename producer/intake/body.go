package intake

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"

	"github.com/google/uuid"

	"footfall/models"
	"time"
)

// The media types of the ways in. A request that names none is taken at its word.
const (
	formText = "application/x-www-form-urlencoded"
	jsonText = "application/json"
)

// receive reads a request up to a valid event.
func receive(w http.ResponseWriter, r *http.Request, limit int64, mediaType string, read wayIn) (models.Event, error) {
	if err := checkMedia(r.Header, mediaType); err != nil {
		return nil, err
	}
	body, err := readBody(w, r, limit)
	if err != nil {
		return nil, err
	}
	event, err := read(r, body)
	if err != nil {
		return nil, err
	}
	if err := event.Validate(); err != nil {
		return nil, err
	}
	return event, nil
}

// checkMedia wants the media type or none, in UTF-8, not compressed.
func checkMedia(h http.Header, want string) error {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return &refusal{reason: unsupportedMedia, detail: "Content-Encoding must be absent"}
	}
	given := h.Get("Content-Type")
	if given == "" {
		return nil
	}
	got, params, err := mime.ParseMediaType(given)
	if err != nil || got != want {
		return &refusal{reason: unsupportedMedia, detail: "Content-Type must be " + want}
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return &refusal{reason: unsupportedMedia, detail: "charset must be utf-8"}
	}
	return nil
}

func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	tooLarge := &refusal{reason: bodyTooLarge, detail: fmt.Sprintf("at most %d bytes", limit)}
	if r.ContentLength > limit {
		return nil, tooLarge // without asking a client that waits for 100 Continue to send it
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &over):
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &refusal{reason: bodyTimeout, detail: "the body took too long", cause: err}
	}
	return nil, &refusal{reason: incompleteBody, detail: "the body ended early or is malformed", cause: err}
}

// complete fills in what a sender may leave to the door: the version, the time, the id.
func complete(version *int, ts *models.Millis, id *string) error {
	if *version == 0 {
		*version = models.Version
	}
	if *ts == models.Absent {
		*ts = models.Millis(time.Now().UnixMilli())
	}
	if *id == "" {
		made, err := uuid.NewV7()
		if err != nil {
			return fmt.Errorf("making an id: %w", err)
		}
		*id = made.String()
	}
	return nil
}
