package links

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"footfall/internal/fair"
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

// Create is POST /v1/links. It answers 201 for a new link, 200 if it exists already with the same target, and returns a refusal if it
// exists with another. So a sender that got no answer can send again. Without a short_url it makes up a name, so each request creates
// a new link. After an error it has answered nothing.
func (h *Handler) Create(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	want, err := decode(body)
	if err != nil {
		return err
	}
	base := h.base(r)
	if len(base) > max(len(h.o.BaseURL), maxBase) {
		return &models.Invalid{Reason: "bad_host", Detail: "the request's Host is too long to make a link of"}
	}
	if err := checkLoop(want.LongURL, base); err != nil {
		return err
	}
	random, beginning := want.ShortURL == "", ""
	if random {
		if beginning, err = h.o.Begin(r); err != nil {
			return err
		}
		want.ShortURL = beginning + randomName(codeLength)
	}
	if err := h.o.Allow(r, want.ShortURL); err != nil {
		return err
	}
	from := fair.Customer(h.o.Enrich.ClientIP(r))
	if !h.creating.Take(from, 1) {
		return h.unavailable(r, errBusy)
	}
	defer h.creating.Release(from, 1)
	for n := 1; ; n++ {
		existing, created, err := h.o.Store.Create(r.Context(), want.ShortURL, want.LongURL, time.Now().UTC().Truncate(time.Millisecond))
		switch {
		case err != nil:
			return h.unavailable(r, err)
		case created:
			h.cache.put(want.ShortURL, want.LongURL)
			h.answer(w, r, http.StatusCreated, want)
			return nil
		case !random && existing == want.LongURL:
			h.answer(w, r, http.StatusOK, want)
			return nil
		case !random || n == attempts:
			return &answer.Refusal{Reason: answer.ShortURLTaken, Detail: "it leads elsewhere", LongURL: existing}
		}
		want.ShortURL = beginning + randomName(codeLength+n)
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
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, &answer.Refusal{Reason: answer.UnsupportedMedia, Detail: "Content-Encoding must be absent"}
	}
	if _, err := answer.MediaType(r.Header, "application/json"); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, answer.OfRead(err, maxBody)
	}
	return body, nil
}
