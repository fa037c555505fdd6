package links

import (
	"context"
	"errors"
	"net/http"

	"footfall/models"
	"footfall/producer/answer"
)

// answer describes a link that was created, or that was there already with the same target.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, status int, link wanted) {
	address := h.base(r) + "/" + link.ShortURL
	if status == http.StatusCreated {
		w.Header().Set("Location", address)
	}
	if len(link.LongURL) > models.MaxExcerpt {
		link.LongURL = ""
	}
	answer.JSON(w, status, made{ShortURL: link.ShortURL, LongURL: link.LongURL, Link: address})
}

// base is the beginning of all short links: links.base_url, or else the address that the request was sent to.
func (h *Handler) base(r *http.Request) string {
	if h.o.BaseURL != "" {
		return h.o.BaseURL
	}
	return h.origin(r)
}

// origin is the scheme and host that the request was sent to. X-Forwarded-Proto is believed from trusted proxies only.
func (h *Handler) origin(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || (h.o.Enrich.PeerTrusted(r) && r.Header.Get("X-Forwarded-Proto") == "https") {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// unavailable is the refusal where the store of links failed, or has too many requests to be asked.
func (h *Handler) unavailable(r *http.Request, err error) error {
	if errors.Is(err, errBusy) {
		return &answer.Refusal{Reason: answer.Overloaded, Detail: "too many links are being looked up; try again"}
	}
	if r.Context().Err() == nil || !errors.Is(err, context.Canceled) { // else the client hung up, which is no error of the store
		h.o.Log.Warn("the store of links does not answer", "error", err.Error())
	}
	return &answer.Refusal{Reason: answer.StoreUnavailable, Detail: "try again"}
}
