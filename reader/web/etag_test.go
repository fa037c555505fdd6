package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"footfall/reader/params"
)

// TestETags: the same counts have the same tag as time goes by; other counts, formats, doubts and halts have another.
func TestETags(t *testing.T) {
	f := newFake()
	s := newServer(t, f, open, nil)
	path := "/v1/stats/links/abc/series"
	first := get(s, path)
	tag := first.Header().Get("Etag")
	if !strings.HasPrefix(tag, `W/"`) {
		t.Fatalf("ETag %q: the bytes differ by as_of, so it is a weak one", tag)
	}
	f.asOf.Time, f.asOf.Lag = now.Add(time.Second), 0
	for _, header := range []string{tag, strings.TrimPrefix(tag, "W/"), `"x", ` + tag, "*"} {
		w := get(s, path, "If-None-Match: "+header)
		if w.Code != http.StatusNotModified || w.Body.Len() != 0 || w.Header().Get("Etag") != tag || w.Header().Get("Content-Type") != "" {
			t.Errorf("%s: %d %q %v", header, w.Code, w.Body, w.Header())
		}
		if !strings.Contains(w.Header().Get("Footfall-As-Of"), "14:05:01Z") {
			t.Errorf("a 304 does not tell how far the counts reach now: %v", w.Header())
		}
	}
	changed := func(why string, path, header string) {
		t.Helper()
		if w := get(s, path, "If-None-Match: "+header); w.Code != 200 || w.Header().Get("Etag") == tag {
			t.Errorf("%s: %d, the same tag", why, w.Code)
		}
	}
	changed("another format", path+"?format=csv", tag)
	changed("another link", "/v1/stats/links/abd/series", tag)
	f.asOf.Doubts = 1
	changed("a doubt", path, tag)
	f.asOf.Doubts, f.asOf.Counting = 0, false
	changed("nobody counts", path, tag)
	f.asOf.Counting = true
	f.points = many(3)
	changed("other counts", path, tag)
	f.points = newFake().points
	if w := get(s, path, "If-None-Match: "+`"x"`); w.Code != 200 {
		t.Errorf("another tag: %d", w.Code)
	}
	if w := get(s, path, "If-None-Match: "+tag); w.Code != 304 {
		t.Errorf("the same counts again: %d", w.Code)
	}
}

func TestGzip(t *testing.T) {
	f := newFake()
	f.points = many(200) // whole, and worth it
	s := newServer(t, f, open, nil)
	plainText := get(s, series).Body.String()
	w := get(s, series, "Accept-Encoding: br, gzip;q=0.5")
	if w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Content-Length") != strconv.Itoa(w.Body.Len()) || w.Body.Len() > len(plainText)/3 {
		t.Errorf("%v, %d of %d bytes", w.Header(), w.Body.Len(), len(plainText))
	}
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || string(text) != plainText {
		t.Errorf("%v, other text", err)
	}
	if w := get(s, "/v1/stats/links/abc", "Accept-Encoding: gzip"); w.Header().Get("Content-Encoding") != "" {
		t.Error("a short answer is compressed")
	}
	for header, want := range map[string]bool{"": false, "gzip": true, "GZIP": true, "*": true, "br": false, "gzip;q=0": false, "gzip; q=0.0": false, "*;q=0": false, "*, gzip;q=0": false, "identity, x-gzip": true} {
		if params.AcceptsGzip(header) != want {
			t.Errorf("%q: %v", header, !want)
		}
	}
}
