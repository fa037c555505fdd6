// Package assets serves two files: track.js, the script for pages, and openapi.yaml, the description of the HTTP API.
package assets

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the files are part of the binary
	"encoding/hex"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Script is track.js, which counts page views; docs/script.md tells how to use it.
//
//go:embed track.js
var Script []byte

// OpenAPI describes every route and every answer.
//
//go:embed openapi.yaml
var OpenAPI []byte

// scriptFeatures is the place in the compact script that names the features.
const scriptFeatures = `["feature1","feature2"]`

// ServeScript is GET /track.js, for pages of all origins, with the configured names of features. Browsers cache it for an hour and
// then revalidate it.
func ServeScript(features []string) http.Handler {
	names := `["` + strings.Join(features, `","`) + `"]`
	return serve(bytes.Replace(compact(Script), []byte(scriptFeatures), []byte(names), 1), "text/javascript; charset=utf-8")
}

// loose matches white space without meaning: beside an operator. No string of the script has any there.
var loose = regexp.MustCompile(`\s*([=(){}\[\],;:?|&+!<>])\s*`)

// compact removes white space and comment lines, except the first comment, which says where the source is.
func compact(script []byte) []byte {
	first, rest, _ := bytes.Cut(script, []byte("\n"))
	var code []byte
	for line := range bytes.Lines(rest) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("//")) {
			code = append(code, line...)
		}
	}
	return slices.Concat(first, []byte("\n"), loose.ReplaceAll(code, []byte("$1")), []byte("\n"))
}

// ServeOpenAPI is GET /openapi.yaml.
func ServeOpenAPI() http.Handler {
	return serve(OpenAPI, "application/yaml; charset=utf-8")
}

func serve(content []byte, mediaType string) http.Handler {
	sum := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", mediaType)
		h.Set("Cache-Control", "public, max-age=3600")
		h.Set("ETag", tag)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Access-Control-Allow-Origin", "*")             // for <script crossorigin integrity>
		h.Set("Cross-Origin-Resource-Policy", "cross-origin") // for pages that isolate themselves
		if strings.Contains(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(content) // if the client hung up there is nobody to tell
	})
}
