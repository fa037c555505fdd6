package links

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"footfall/models"
)

// refusal is the body of everything but success, in the form that the rest of the door has.
type refusal struct {
	Error   string `json:"error"`
	Detail  string `json:"detail,omitempty"`
	LongURL string `json:"long_url,omitempty"` // of the link that has the name
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request, status int, link wanted) {
	address := h.base(r) + "/" + link.ShortURL
	if status == http.StatusCreated {
		w.Header().Set("Location", address)
	}
	if len(link.LongURL) > models.MaxExcerpt {
		link.LongURL = ""
	}
	write(w, status, made{ShortURL: link.ShortURL, LongURL: link.LongURL, Link: address})
}

// base is what short links begin with.
func (h *Handler) base(r *http.Request) string {
	if h.o.BaseURL != "" {
		return h.o.BaseURL
	}
	return h.origin(r)
}

// origin is what the request was sent to, as far as we can tell.
func (h *Handler) origin(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || (h.o.Enrich.PeerTrusted(r) && r.Header.Get("X-Forwarded-Proto") == "https") {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

func (h *Handler) refuse(w http.ResponseWriter, status int, reason, detail string) {
	h.o.Refused(reason)
	write(w, status, refusal{Error: reason, Detail: detail})
}

func (h *Handler) refuseErr(w http.ResponseWriter, status int, err error) {
	var invalid *models.Invalid
	if !errors.As(err, &invalid) {
		status, invalid = http.StatusInternalServerError, &models.Invalid{Reason: "internal"}
	}
	h.refuse(w, status, invalid.Reason, invalid.Detail)
}

// unavailable answers for a store that did not, or was not asked: 503, so that the visitor or the sender tries again.
func (h *Handler) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errBusy) {
		w.Header().Set("Retry-After", "1")
		h.refuse(w, http.StatusServiceUnavailable, "overloaded", "too many links are being looked up; try again")
		return
	}
	if r.Context().Err() == nil || !errors.Is(err, context.Canceled) { // else the client hung up, which is nobody's error
		h.o.Log.Warn("the store of links does not answer", "error", err.Error())
	}
	w.Header().Set("Retry-After", "1")
	h.refuse(w, http.StatusServiceUnavailable, "store_unavailable", "try again")
}

func write(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings only
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a client that hung up is nobody's error
}
