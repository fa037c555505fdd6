package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// What every answer has. Answers are data: a browser that shows one must run nothing of it, put it into no frame, and tell nobody the
// address, which may have a share link's signature.
var securityHeaders = map[string]string{
	"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Resource-Policy": "same-origin",
}

func setSecurityHeaders(h http.Header) {
	for name, value := range securityHeaders {
		h.Set(name, value)
	}
	h.Set("Vary", "Accept, Accept-Encoding, Authorization, Origin")
}

const allowedMethods = "GET, HEAD, OPTIONS"

// cors lets pages of the configured origins read answers. There are no cookies, so that credentials are never allowed. It tells whether the
// request is a preflight, which is answered then.
func (s *Server) cors(w http.ResponseWriter, r *http.Request) (preflight bool) {
	h, origin := w.Header(), r.Header.Get("Origin")
	allowed := origin != "" && (slices.Contains(s.cfg.Origins, "*") || slices.Contains(s.cfg.Origins, origin))
	if allowed {
		h.Set("Access-Control-Allow-Origin", origin)
		if slices.Contains(s.cfg.Origins, "*") {
			h.Set("Access-Control-Allow-Origin", "*")
		}
		h.Set("Access-Control-Expose-Headers", "ETag, Retry-After, Footfall-As-Of, Footfall-Complete")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	}
	if r.Method != http.MethodOptions {
		return false
	}
	h.Set("Allow", allowedMethods)
	if origin != "" && !allowed {
		s.refuse(w, r, &refusal{Reason: originNotAllowed, Detail: "pages of this origin may not read (http.origins)"})
		return true
	}
	if allowed {
		h.Set("Access-Control-Allow-Methods", allowedMethods)
		h.Set("Access-Control-Allow-Headers", "Authorization, If-None-Match")
		h.Set("Access-Control-Max-Age", "7200") // the most that Chromium keeps
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

// checkOrigins refuses origins that no browser sends: such an entry would look as if it let somebody in.
func checkOrigins(origins []string) error {
	for _, text := range origins {
		u, err := url.Parse(text)
		if text != "*" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || text != u.Scheme+"://"+strings.ToLower(u.Host)) {
			return errors.New("http.origins: " + text + " is no origin: write it as https://stats.example, in small letters, with a port if it has one and nothing behind it; or * for all")
		}
	}
	return nil
}
