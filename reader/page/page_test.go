package page

import (
	"compress/gzip"
	"context"
	"errors"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"footfall/models"
	_ "footfall/reader/export/parquet" // as a reader has it
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// newHandler sets the options that a test leaves out: everybody may see everything, and there is room.
func newHandler(from Stats, o Options) *Handler {
	if o.Allow == nil {
		o.Allow = func(*http.Request) (May, *Denied) { return everything{}, nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Refused == nil {
		o.Refused = func(context.Context, error) {}
	}
	if o.Take == nil {
		o.Take = func(http.ResponseWriter, *http.Request) (func(), bool) { return func() {}, true }
	}
	o.Panicked, o.Log = func(any) {}, slog.New(slog.DiscardHandler)
	return New(from, o)
}

type everything struct{}

func (everything) Site(string) bool          { return true }
func (everything) Link(string) bool          { return true }
func (everything) Sites() []models.NameRange { return []models.NameRange{models.NamesWith("")} }
func (everything) Links() []models.NameRange { return []models.NameRange{models.NamesWith("")} }
func (everything) All() bool                 { return true }
func (everything) Sees() string              { return "everything" }

func (everything) Shares() (site, link string) { return "", "" }

func newPage(m *statstest.Memory) http.Handler {
	return newHandler(reader(m), Options{Now: func() time.Time { return today }, Pulse: func() stats.Minute { return minute(time.Hour) }})
}

type answer struct {
	StatusCode int
	Header     http.Header
}

func get(t *testing.T, h http.Handler, path string, header ...string) (answer, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var body io.Reader = w.Body
	if w.Header().Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		body = unzipped
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{w.Code, w.Header()}, string(text)
}

// lagging is a reader whose sites are behind.
type lagging struct{ counted }

func (l lagging) BusiestSites(ctx context.Context, month models.Millis, metric stats.Metric, limit int, of []models.NameRange) (stats.Top, error) {
	top, err := l.counted.BusiestSites(ctx, month, metric, limit, of)
	top.AsOf = stats.AsOf{Time: today.Add(-time.Hour), Lag: 3000}
	return top, err
}

// TestTheFirstPageReachesAsFarAsTheOneBehind: it has links and sites, and is up to date only if both are.
func TestTheFirstPageReachesAsFarAsTheOneBehind(t *testing.T) {
	_, text := get(t, newHandler(lagging{reader(shared(t))}, Options{Now: func() time.Time { return today }}), "/")
	for _, want := range []string{"13:03:30 UTC", "3,012 events behind", "no consumer is counting right now"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q: %s", want, text)
		}
	}
}

func TestPages(t *testing.T) {
	h := newPage(shared(t))
	f := func(path string, status int, wants ...string) {
		t.Helper()
		answer, text := get(t, h, path)
		if answer.StatusCode != status {
			t.Fatalf("%s: %d, want %d: %s", path, answer.StatusCode, status, text)
		}
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q: %s", path, want, text)
			}
		}
		if strings.Contains(text, "ZgotmplZ") || strings.Contains(text, " style=") || regexp.MustCompile(`\son\w+=`).MatchString(text) {
			t.Errorf("%s has what its policy forbids: %s", path, text)
		}
	}
	f("/", 200, "Wednesday 18 November 2026", `href="/links/autumn-sale"`, `href="/sites/shop.example"`, "Counted up to", "14:03:22 UTC", "12 events behind")
	f("/links/autumn-sale", 200, "Clicks by day", "20 October – 18 November 2026", "Germany · DE", `<svg class="world" role="img"`, "In October 2026 to November 2026.", "Browsers", "Firefox", "not told", "direct, or not told", "Sum of amounts", "Latest clicks of today", "unfinished",
		"/v1/stats/links/autumn-sale/series?by=day&amp;format=csv&amp;from=2026-10-20T00%3A00%3A00Z&amp;to=2026-11-19T00%3A00%3A00Z", "https://shop.example/shop?utm_source=newsletter")
	f("/links/autumn-sale?from=2026-09-01&last=2026-10-05", 200, "Export October 2026", `href="/v1/stats/links/autumn-sale/export?format=parquet&amp;month=2026-10"`)
	f("/sites/shop.example?period=2026-W45", 200, "Export November 2026", `href="/v1/stats/sites/shop.example/export?format=ndjson&amp;month=2026-11"`)
	f("/links/autumn-sale?range=24h", 200, "Clicks by hour", "17 November 2026, 15:00 – 18 November, 15:00", "of whole days")
	f("/links/autumn-sale?range=12m", 200, "Clicks by month", "December 2025 – November 2026")
	f("/links/autumn-sale?range=all", 200, "Clicks by week")
	f("/links/autumn-sale?from=2026-10-20&last=2026-11-18&by=week", 200, "Clicks by week", "19 October – 22 November 2026")
	f("/links/autumn-sale?from=2020-01-01&last=2026-11-18&by=hour", 200, "Clicks by week", "too many hours")
	f("/links/autumn-sale?range=yesterday", 400, "cannot be understood", "The range in this address is not valid. Use 24h")
	f("/links/autumn-sale?from=2026-11-18&last=2026-11-17", 400, "The last day in this address is not valid. Use a day that is not before the first one.")
	f("/links/nobody", 200, "No link is called <bdi>nobody", "capitals count", `&#34;short_url&#34;:&#34;nobody&#34;`, "curl")
	f("/sites/shop.example", 200, "November 2026", "Unique visitors by day", "so far;", "google.com", "/shop/lamps", `href="/sites/shop.example?page=%2Fshop%2Flamps"`)
	f("/sites/shop.example?period=2026-W46", 200, "Week 46, 9 – 15 November 2026", "% on the period before")
	f("/sites/shop.example?period=2026-11-18", 200, "Views by hour")
	f("/sites/shop.example?period=2026-11-18&metric=unique", 200, "This is not kept: the number of unique visitors by hour", "<li>views by hour, day, week, month</li>")
	f("/sites/shop.example?period=2026-09", 200, "final")
	f("/sites/shop.example?referrer=google.com&metric=views", 200, "Only visits with", "Visitors", "Unique visitors: the number of views of a combination of features is not kept.", `aria-label="Take away the filter by referrer"`)
	f("/sites/shop.example?referrer=google.com&page=%2F&metric=views", 200, "This is not kept: the number of views of a combination of features", "not kept for this")
	f("/sites/shop.example?from=2026-10-01&last=2026-11-18&by=day", 200, "they do not add up", "Choose a month", "October 2026")
	f("/sites/shop.example?period=soon", 400, "cannot be understood", "The period in this address is not valid. Use a month (2018-10)")
	f("/sites/nobody", 200, "No site of the last two years is called <bdi>nobody", "capitals count", `&#34;siteId&#34;:&#34;nobody&#34;`)
	f("/sites/shop.example/more", 404, "There is no such page")
	f("/nowhere", 404, "There is no such page")
	f("/links", 404, "There is no such page")
	f("/links?name=..", 200, "No link is called <bdi>..")
	f("/assets/none.css", 404, "no such file")
	f("/links/%FF", 400, "want UTF-8")
	f("/links/"+strings.Repeat("x", models.MaxShortURL+1), 400, "want at most")
}

func TestSearch(t *testing.T) {
	h := newPage(statstest.NewMemory(models.DefaultPlan()))
	f := func(query, want string) {
		t.Helper()
		if answer, _ := get(t, h, "/find?"+query); answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != want {
			t.Errorf("%s: %d %s, want %s", query, answer.StatusCode, answer.Header.Get("Location"), want)
		}
	}
	f("q=+abc+&kind=link", "/links/abc")
	f("q=shop.example&kind=site&share=s.t", "/sites/shop.example?share=s.t")
	f("q=a%2Fb%3Fc", "/links/a%2Fb%3Fc")
	f("q=..&kind=site", "/sites?name=..")
	f("q=%2F%2Fevil.example", "/links/%2F%2Fevil.example")
	f("q=", "/")
}

func TestEmptyPagesSayHowToSendAFirstEvent(t *testing.T) {
	h := newPage(statstest.NewMemory(models.DefaultPlan()))
	if _, text := get(t, h, "/"); !strings.Contains(text, "curl -X POST http://127.0.0.1:8080/v1/clicks") || !strings.Contains(text, "/v1/visits") {
		t.Error(text)
	}
	// A command is copied into a shell: no name may change what it does.
	_, text := get(t, h, "/links/"+url.PathEscape(`'; touch x; '`))
	code := html.UnescapeString(regexp.MustCompile(`(?s)<code>.*?</code>`).FindString(text))
	if !strings.Contains(code, `{"short_url":"abc"`) || strings.Contains(code, "touch") {
		t.Error(code)
	}
}

func TestHeadersAndBytes(t *testing.T) {
	h := newPage(shared(t))
	size := func(path string) (bytes int) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		h.ServeHTTP(w, r)
		if csp := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || w.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %v", path, w.Header())
		}
		return w.Body.Len()
	}
	loaded := size(assetNames["page.css"]) + size(assetNames["page.js"]) + size(assetNames["icon.svg"])
	for _, path := range []string{"/", "/links/autumn-sale", "/links/autumn-sale?from=2024-10-01&last=2026-11-18&by=day&show=referrers", "/sites/shop.example", "/sites/shop.example?from=2024-10-01&last=2026-11-18&by=day&metric=views", "/sites/shop.example?show=page"} {
		n := size(path)
		t.Logf("%s: %d bytes, with what it loads %d; the part that moves %d", path, n, n+loaded, size(partURL(path)))
		if n+loaded > 40<<10 {
			t.Errorf("%s: %d bytes over the wire, want 40 KB at the most", path, n+loaded)
		}
	}
	if answer, _ := get(t, h, assetNames["page.css"]); !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/css") || !strings.Contains(answer.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("%v", answer.Header)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// The part that moves is that of the whole page, and reads no ranking.
func TestLivePart(t *testing.T) {
	h := newPage(shared(t))
	for _, path := range []string{"/links/autumn-sale", "/sites/shop.example?period=2026-11", "/"} {
		_, whole := get(t, h, path)
		at := regexp.MustCompile(`data-live="([^"]*)"`).FindStringSubmatch(whole)
		if at == nil {
			t.Fatalf("%s has no part that moves", path)
		}
		_, part := get(t, h, strings.ReplaceAll(at[1], "&amp;", "&"))
		if !strings.HasPrefix(part, `<div id="live">`) || !strings.Contains(whole, part) {
			t.Errorf("%s: %s", path, part)
		}
	}
}

func TestFailures(t *testing.T) {
	m := demo(t)
	h := newPage(m)
	m.Fail(errors.New("secret of the store"))
	for _, path := range []string{"/", "/links/x", "/sites/x"} {
		if answer, text := get(t, h, path); answer.StatusCode != http.StatusServiceUnavailable || strings.Contains(text, "secret") || answer.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
}

type only string

func (o only) Site(name string) bool     { return name == string(o) }
func (o only) Link(name string) bool     { return name == string(o) }
func (o only) Sites() []models.NameRange { return []models.NameRange{{From: string(o), To: string(o)}} }
func (only) Links() []models.NameRange   { return nil }
func (only) All() bool                   { return false }
func (o only) Shares() (site, _ string)  { return string(o), "" }
func (o only) Sees() string              { return string(o) }

func TestWhoMaySee(t *testing.T) {
	denied := &Denied{Status: http.StatusUnauthorized, Detail: "send your read key"}
	h := newHandler(reader(shared(t)), Options{Now: func() time.Time { return today }, Allow: func(r *http.Request) (May, *Denied) {
		if r.URL.Query().Get("share") == "" {
			return nil, denied
		}
		return only("shop.example"), nil
	}})
	f := func(path string, status int, want, never string) {
		t.Helper()
		answer, text := get(t, h, path)
		if answer.StatusCode != status || !strings.Contains(text, want) || strings.Contains(text, never) {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
	f("/", 401, "Send your read key.", "autumn-sale")
	f("/sites/shop.example", 401, "Read key", "google.com")
	f("/sites/shop.example?nonsense=1", 401, "Read key", "nonsense is no")
	f("/links/autumn-sale?share=x", 403, "not for this link or site", "Germany")
	f("/?share=x", 200, "shop.example", "journal.example")
	f("/?share=x", 200, "shop.example", "autumn-sale")
	f("/sites/shop.example?share=x", 200, "share=x", "autumn-sale")
	// Every address on the page keeps the share.
	_, text := get(t, h, "/sites/shop.example?share=x")
	for _, found := range regexp.MustCompile(`(?:href|action)="(/[^"]*)"`).FindAllStringSubmatch(text, -1) {
		if at := found[1]; !strings.Contains(at, "share=x") && !strings.HasPrefix(at, "/assets/") && at != "/find" && at != "/sites/shop.example" {
			t.Errorf("%s loses the share", at)
		}
	}
}

func TestHandles(t *testing.T) {
	for path, want := range map[string]bool{"/": true, "/links/x": true, "/sites/x%2Fy": true, "/assets/x": true, "/find": true, "/v1/stats/links": false, "/healthz": false, "": true, "linksx": false} {
		if path != "" && Handles(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}

var _ Stats = (*stats.Reader)(nil)
