package links

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"footfall/models"
	"footfall/producer/answer"
)

// maxBody has room for the longest target with every byte escaped.
const maxBody = 16 << 10

// maxBase is the longest base of links if it comes from the request: without links.base_url it is the Host header.
const maxBase = len("https://") + models.MaxExcerpt

// attempts is how many made-up names are tried if they exist already. Each is one letter longer than the one before.
const attempts = 5

// wanted is the body of POST /v1/links.
type wanted struct {
	ShortURL string `json:"short_url"`
	LongURL  string `json:"long_url"`
}

// made is the answer: the link, and its address for people. A target that is longer than what answers repeat is left out.
type made struct {
	ShortURL string `json:"short_url"`
	LongURL  string `json:"long_url,omitempty"`
	Link     string `json:"link"`
}

// Create is POST /v1/links. It answers 201 for a new link, 200 if it exists already with the same target, and 409 if it exists
// with another. So a sender that got no answer can send again. Without a short_url it makes up a name, so each request creates a
// new link.
func (h *Handler) Create(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		h.refuse(w, &answer.Refusal{Reason: answer.MethodNotAllowed, Detail: "use POST"})
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		h.refuse(w, err)
		return
	}
	want, err := decode(body)
	if err == nil && len(h.base(r)) > max(len(h.o.BaseURL), maxBase) {
		err = &models.Invalid{Reason: "bad_host", Detail: "the request's Host is too long to make a link of"}
	}
	if err != nil {
		h.refuse(w, err)
		return
	}
	if err := checkLoop(want.LongURL, h.base(r)); err != nil {
		h.refuse(w, err)
		return
	}
	random, beginning := want.ShortURL == "", ""
	if random {
		var ok bool
		if beginning, ok = h.o.Begin(w, r); !ok {
			return
		}
		want.ShortURL = beginning + randomName(codeLength)
	}
	if !h.o.Allow(w, r, want.ShortURL) {
		return
	}
	select {
	case h.creating <- struct{}{}:
		defer func() { <-h.creating }()
	default:
		h.unavailable(w, r, errBusy)
		return
	}
	for n := 1; ; n++ {
		existing, created, err := h.o.Store.Create(r.Context(), want.ShortURL, want.LongURL, time.Now().UTC().Truncate(time.Millisecond))
		switch {
		case err != nil:
			h.unavailable(w, r, err)
		case created:
			h.cache.put(want.ShortURL, want.LongURL)
			h.answer(w, r, http.StatusCreated, want)
		case !random && existing == want.LongURL:
			h.answer(w, r, http.StatusOK, want)
		case random && n < attempts:
			want.ShortURL = beginning + randomName(codeLength+n)
			continue
		default:
			h.refuse(w, &answer.Refusal{Reason: answer.ShortURLTaken, Detail: "it leads elsewhere", LongURL: existing})
		}
		return
	}
}

func decode(body []byte) (wanted, error) {
	var want wanted
	if !utf8.Valid(body) { // encoding/json would replace it with U+FFFD
		return want, &models.Invalid{Reason: models.ReasonBadUTF8}
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(&want)
	if name, ok := strings.CutPrefix(fmt.Sprint(err), "json: unknown field "); ok {
		return want, &models.Invalid{Reason: models.ReasonUnknownField, Detail: models.Excerpt(strings.Trim(name, `"`))}
	}
	if err != nil {
		return want, &models.Invalid{Reason: models.ReasonBadJSON, Detail: `want {"short_url":"abc","long_url":"https://example.org/"}`}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return want, &models.Invalid{Reason: models.ReasonBadJSON, Detail: "more than one value"}
	}
	if _, err := models.Fields(body); err != nil {
		return want, err
	}
	if want.ShortURL != "" && !Name(want.ShortURL) {
		return want, &models.Invalid{Reason: "bad_short_url",
			Detail: "1 to 64 letters, digits, - or _, and none of the server's own paths"}
	}
	return want, checkTarget(want.LongURL)
}

// readBody reads a small JSON body.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	unsupported := &answer.Refusal{Reason: answer.UnsupportedMedia, Detail: "want application/json, in UTF-8 and not compressed"}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, unsupported
	}
	if given := r.Header.Get("Content-Type"); given != "" {
		kind, params, err := mime.ParseMediaType(given)
		if err != nil || kind != "application/json" || (params["charset"] != "" && !strings.EqualFold(params["charset"], "utf-8")) {
			return nil, unsupported
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var over *http.MaxBytesError
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &over):
		return nil, &answer.Refusal{Reason: answer.BodyTooLarge, Detail: fmt.Sprintf("at most %d bytes", maxBody)}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &answer.Refusal{Reason: answer.BodyTimeout, Detail: "the body took too long", Cause: err}
	}
	return nil, &answer.Refusal{Reason: answer.IncompleteBody, Detail: "the body ended early or is malformed", Cause: err}
}
