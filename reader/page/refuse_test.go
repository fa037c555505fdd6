package page

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// TestRefusedAddresses: a page takes the parameters that it knows, each once, and names that an event can have had, as the API does. What is
// ignored would give a number of something else.
func TestRefusedAddresses(t *testing.T) {
	h := newPage(shared(t))
	f := func(path, want, back string) {
		t.Helper()
		answer, text := get(t, h, path)
		if answer.StatusCode != http.StatusBadRequest || !strings.Contains(text, want) || !strings.Contains(text, `href="`+back+`"`) || strings.ContainsAny(text, "\x00\u202e") {
			t.Errorf("%.100q: %d, want %q and a link to %s: %s", path, answer.StatusCode, want, back, text)
		}
	}
	const shop, sale = "/sites/shop.example", "/links/autumn-sale"
	f(shop+"?refferer=google.com", "refferer is no parameter", shop)
	f(shop+"?Page=%2F", "Page is no parameter", shop)
	f(shop+"?feature.price=1", "feature.price is no parameter", shop)
	f(shop+"?range=7d&share=x", "range is no parameter", shop+"?share=x")
	f(shop+"?%E2%80%AEx=1", `\u202ex is no parameter`, shop)
	f(shop+"?page=a&page=b", "page is there more than once", shop)
	f(shop+"?page=a&feature.page=b", "is there more than once", shop)
	f(shop+"?page=", "page: want a name", shop)
	f(shop+"?page=%00", "page: want no NUL", shop)
	f(shop+"?page=%FF", "page: want UTF-8", shop)
	f(shop+"?page="+strings.Repeat("x", models.MaxFeature+1), "page: want at most 1024 bytes", shop)
	f(shop+"?period=%zz", "not name=value", shop)
	f(shop+"?name=other", "name is no parameter", shop)
	f(shop+"?period=2026-11&from=2026-10-01", "Use either period or from, last and by", shop)
	f(sale+"?range=7d&by=hour", "Use either range or from, last and by", sale)
	f(sale+"?metric=views", "metric is no parameter", sale)
	f(sale+"?compare=banana", "The compare in this address is not valid. Use off", sale)
	f(sale+"?show=page", "The show in this address is not valid. Use countries or referrers", sale)
	f(sale+"?part=banana", "The part in this address is not valid. Use live", sale)
	f(shop+"?compare=on", "The compare in this address is not valid. Use off", shop)
	f(shop+"?show=countries", "The show in this address is not valid. Use referrer or page", shop)
	f(shop+"?part=dead", "The part in this address is not valid. Use live", shop)
	f(shop+"?from=2026-11-01&last=2026-11-02T05", "The last day in this address is not valid. Use a whole day", shop)
	f("/?part=banana", "The part in this address is not valid. Use live", "/")
	f("/find?q=x&kind=banana", "The kind in this address is not valid. Use link or site", "/")
	f("/?day=2026-11-01", "day is no parameter", "/")
	f("/find?query=abc", "query is no parameter", "/")
	f("/links/a%00b", "want no NUL", "/")
	f("/sites/%FF%FE", "want UTF-8", "/")
	f("/sites?name=a%00b", "want no NUL", "/")
	f("/sites/"+strings.Repeat("x", models.MaxSiteID+1), "want at most", "/")
}

// TestRangesThatCutAUnit: days are widened to the weeks and months of a plot, which says so. A time within a day is not.
func TestRangesThatCutAUnit(t *testing.T) {
	h := newPage(shared(t))
	f := func(query string, status int) {
		t.Helper()
		for _, path := range []string{"/sites/shop.example?metric=views&", "/links/autumn-sale?"} {
			if answer, text := get(t, h, path+query); answer.StatusCode != status || (status == 422) != strings.Contains(text, "is no range of whole") {
				t.Errorf("%s%s: %d, want %d: %s", path, query, answer.StatusCode, status, text)
			}
		}
	}
	f("from=2026-11-01T05:30:00Z&by=day", 422)
	f("from=2026-11-01T05:30:00Z", 422)
	f("from=2026-11-01T05&last=2026-11-02&by=week", 422)
	f("from=2026-11-01T05:30:00Z&last=2026-11-02&by=hour", 422)
	f("from=2026-11-01T05&last=2026-11-02&by=hour", 200)
	f("from=2026-11-03&last=2026-11-12&by=week", 200)
}

// TestFeaturesHaveTwoSpellings: a feature that is called as a parameter can be asked for, and every address on the page has one spelling.
func TestFeaturesHaveTwoSpellings(t *testing.T) {
	plan, err := models.NewPlan([]string{"period", "page"}, models.AllMetrics())
	if err != nil {
		t.Fatal(err)
	}
	m := statstest.NewMemory(plan)
	m.Add(&models.Visit{V: 1, ID: "1", SiteID: "s", GUID: "1", TS: models.Millis(today.UnixMilli()), Features: []string{"baroque", "/a"}, Plan: plan},
		&models.Visit{V: 1, ID: "2", SiteID: "s", GUID: "2", TS: models.Millis(today.UnixMilli()), Features: []string{"baroque", "/b"}, Plan: plan})
	h := newPage(m)
	for _, path := range []string{"/sites/s?feature.page=%2Fa", "/sites/s?feature.period=baroque&page=%2Fa"} {
		answer, text := get(t, h, path)
		if answer.StatusCode != 200 || !strings.Contains(text, `<span class="value">1</span>`) || strings.Contains(text, "feature.page") || !strings.Contains(text, "Take away the filter by page") {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
	_, text := get(t, h, "/sites/s?feature.period=baroque&feature.page=%2Fa")
	if !strings.Contains(text, `href="/sites/s?feature.period=baroque"`) || !strings.Contains(text, `href="/sites/s?page=%2Fa"`) {
		t.Errorf("a filter cannot be taken away: %s", text)
	}
}

// TestWhereALinkLeads: the address is shown without characters that hide or reorder others, and only a web address is a link.
func TestWhereALinkLeads(t *testing.T) {
	f := func(long, text, href string) {
		t.Helper()
		m := statstest.NewMemory(models.DefaultPlan())
		m.Add(&models.Click{V: 1, ID: "1", ShortURL: "abc", IP: "1", TS: models.Millis(today.UnixMilli())})
		m.Lead(t, "abc", long)
		_, page := get(t, newPage(m), "/links/abc")
		if !strings.Contains(page, text) || strings.ContainsAny(page, "\u202e\u200b\x1b") {
			t.Errorf("%q is not shown as %s: %s", long, text, page)
		}
		if isLink := strings.Contains(page, `<a href="`+href); isLink != (href != "") && href != "" || strings.Contains(strings.ToLower(page), `href="javascript:`) {
			t.Errorf("%q: no link to %s, or one to run: %s", long, href, page)
		}
	}
	f("https://shop.example/\u202egnp.exe", `https://shop.example/\u202egnp.exe</bdi>`, "https://shop.example/%e2%80%aegnp.exe")
	f("https://shop.example/a\u200bb", `https://shop.example/a\u200bb</bdi>`, "https://shop.example/a%e2%80%8bb")
	f("HTTPS://shop.example/", `HTTPS://shop.example/</bdi>`, "HTTPS://shop.example/")
	f("javascript:pwned=1", "leads to <bdi>javascript:pwned=1</bdi>", "")
	f(" \x1bjavascript:pwned=1", `leads to <bdi> \x1bjavascript:pwned=1</bdi>`, "")
	f("data:text/html,x", "leads to <bdi>data:text/html,x</bdi>", "")
	f("https:evil", "leads to <bdi>https:evil</bdi>", "")
}

// TestTimesOfWhichNothingIsKept: they say so, and lead to the newest month that has something.
func TestTimesOfWhichNothingIsKept(t *testing.T) {
	m := statstest.NewMemory(demoPlan(t))
	last := models.Millis(time.Date(2026, 8, 9, 1, 0, 0, 0, time.UTC).UnixMilli())
	m.Add(&models.Click{V: 1, ID: "1", ShortURL: "abc", IP: "1", TS: last}, &models.Click{V: 1, ID: "2", ShortURL: "abc", IP: "1", TS: last - models.Millis(90*24*time.Hour/time.Millisecond)},
		&models.Visit{V: 1, ID: "3", SiteID: "s", GUID: "1", TS: last, Features: []string{"a", "b"}, Plan: m.Plan()})
	h := newPage(m)
	const nothing = "Nothing is kept of this time"
	f := func(path string, wants ...string) {
		t.Helper()
		answer, text := get(t, h, path)
		for _, want := range append(wants, nothing) {
			if answer.StatusCode != 200 || !strings.Contains(text, want) || strings.Contains(text, "within two seconds") {
				t.Errorf("%s: %d, want %s: %s", path, answer.StatusCode, want, text)
			}
		}
	}
	const site, link = `href="/sites/s?period=2026-08">August 2026</a>`, `href="/links/abc?from=2026-08-01&amp;last=2026-08-31">August 2026</a>`
	for _, period := range []string{"1970-01", "1970-01-01", "1970-W02", "2018-10", "2026-10", "2999-12", "9999-12", "9999-W52", "9999-12-31"} {
		f("/sites/s?period="+period, site)
	}
	f("/sites/s?period=2018-10&page=b", `href="/sites/s?page=b&amp;period=2026-08">August 2026</a>`, "with what you filter by")
	f("/sites/s?from=1970-01-01&last=1970-03-01", site)
	f("/sites/s?from=2026-09-01&last=2026-10-01&metric=views", `period=2026-08">August 2026</a>`)
	f("/sites/s?from=3000-01-01&last=3000-03-01&by=month", site)
	f("/links/abc?from=1970-01-01&last=1970-03-01", link, "Clicks ever")
	f("/links/abc?from=1970-01-01&last=1970-01-03&by=week", link)
	f("/links/abc?from=2999-01-01&last=2999-03-01&by=hour", link)
	f("/sites/nobody?period=2018-10", "Choose another period")
	for _, path := range []string{"/sites/s", "/sites/s?period=2026-08", "/links/abc", "/links/nobody", "/links/abc?from=1970-01-01&last=2026-11-18&by=month"} {
		if answer, text := get(t, h, path); answer.StatusCode != 200 || strings.Contains(text, nothing) {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
}

// TestWhatIsKnownOfANameWithoutCounts: a link that footfall made is there before its first click, a site that had visits in an earlier month
// is there as well.
func TestWhatIsKnownOfANameWithoutCounts(t *testing.T) {
	m := statstest.NewMemory(demoPlan(t))
	m.Lead(t, "made", "https://shop.example/")
	m.Add(&models.Visit{V: 1, ID: "1", SiteID: "old", GUID: "1", TS: models.Millis(today.AddDate(0, -3, 0).UnixMilli()), Features: []string{"a", "b"}, Plan: m.Plan()})
	h := newPage(m)
	f := func(path string, never string, wants ...string) {
		t.Helper()
		_, text := get(t, h, path)
		for _, want := range wants {
			if !strings.Contains(text, want) || strings.Contains(text, never) {
				t.Errorf("%s: no %q, or %q: %s", path, want, never, text)
			}
		}
	}
	f("/links/made", "is called", "No clicks yet", "curl")
	f("/links/Made", "No clicks yet", "No link is called <bdi>Made", "Names are exact: capitals count.", "curl")
	f("/sites/old", "is called", "No visits in this period", `href="/sites/old?period=2026-08">August 2026</a>`, "curl")
	f("/sites/Old", "No visits in this period", "No site of the last two years is called <bdi>Old", "Names are exact: capitals count.", "curl")
	f("/sites/Old?period=2018-10", "is called", "Names are exact: capitals count.")
}

// TestPagesHaveNoETag: what a page shows changes every second, since it says how far the counts reach. A browser that is told "not modified"
// would go on showing the old time.
func TestPagesHaveNoETag(t *testing.T) {
	from := moving{counted: reader(shared(t))}
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(&from, Options{Now: func() time.Time { return today }})
		first, _ := get(t, h, "/links/autumn-sale?part=live")
		from.seconds++
		time.Sleep(time.Second) // as a page does
		second, text := get(t, h, "/links/autumn-sale?part=live", "If-None-Match", "*")
		if first.Header.Get("ETag") != "" || second.StatusCode != 200 || !strings.Contains(text, "14:03:23") {
			t.Errorf("%q, then %d: %s", first.Header.Get("ETag"), second.StatusCode, text)
		}
	})
}

// moving is a reader whose counts stay while time goes on.
type moving struct {
	counted
	seconds time.Duration
}

func (m *moving) Link(ctx context.Context, link string) (stats.Link, error) {
	l, err := m.counted.Link(ctx, link)
	l.AsOf.Time = l.AsOf.Time.Add(m.seconds * time.Second)
	return l, err
}
