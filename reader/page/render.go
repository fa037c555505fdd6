package page

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"footfall/reader/params"
)

//go:embed templates
var templateFiles embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"asset": func(file string) string { return assetNames[file] },
	"plain": strings.NewReplacer("metric=unique", "unique visitors", "metric=views", "views").Replace, // as the page calls them
}).ParseFS(templateFiles, "templates/*.html"))

// What every page may do: load its own style sheet, script and icon, and ask its own server. Nothing is inline, so that no name that
// somebody counted can become code.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer") // an address may have a share link's signature
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	// A browser asks each time. There is no ETag: a page says how far the counts reach, which moves every second, and one that is "not
	// modified" would go on saying the old time.
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Accept-Encoding, Authorization")
}

// show writes a page, or only the part of it that moves.
func (h *Handler) show(w http.ResponseWriter, r *http.Request, status int, v *view) {
	if err := v.render(); err != nil {
		h.Log.Error("a page's template failed", "page", v.Body, "error", err.Error())
		http.Error(w, "This page cannot be shown. The reader's log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	write(w, r, status, v.plain, v.zipped)
}

// render makes the bytes of a page, once, before others share it. It keeps nothing else of what is on the page.
func (v *view) render() error {
	if v.plain != nil {
		return nil
	}
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, map[bool]string{false: "layout", true: "live"}[v.Live], v); err != nil {
		return err
	}
	v.Data, v.plain, v.zipped = nil, bytes.Clone(b.Bytes()), zip(b.Bytes(), quick)
	return nil
}

// quick is the level of compression for what is soon made anew: half the time of the best, and 4 % more bytes.
const quick = 4

// write sends a body, compressed if the client reads that.
func write(w http.ResponseWriter, r *http.Request, status int, plain, zipped []byte) {
	body := plain
	if params.AcceptsGzip(r.Header.Get("Accept-Encoding")) {
		body = zipped
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // if the client hung up there is nobody to tell
	}
}
