package page

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// until waits for something on the page.
func until(t *testing.T, ctx browser, what, script string) {
	t.Helper()
	for began := time.Now(); !evaluate[bool](t, ctx, script); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("%s: not after ten seconds; the page says %s", what, evaluate[string](t, ctx, `document.body.innerText.slice(0, 400)`))
		}
	}
}

// Somebody who has a read key gives it once. It goes with every request of the tab, and is in no address and no other tab.
func TestAReadKeyStaysInTheTab(t *testing.T) {
	ctx := openBrowser(t)
	var seen []string
	server := httptest.NewServer(newHandler(reader(shared(t)), Options{Now: func() time.Time { return today }, Allow: func(r *http.Request) (May, *Denied) {
		if strings.Contains(r.URL.String(), "s3cret") {
			seen = append(seen, r.URL.String())
		}
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			return nil, &Denied{Status: http.StatusUnauthorized, Detail: "send your read key"}
		}
		return only("shop.example"), nil
	}}))
	defer server.Close()
	looks[0].take(t, ctx, server.URL+"/sites/shop.example")
	give := func(key string) {
		evaluate[any](t, ctx, `document.getElementById("key").value = "`+key+`"; document.querySelector("#signin button").click()`)
	}
	until(t, ctx, "asking for a key", `!document.getElementById("signin").hidden`)
	give("wrong")
	until(t, ctx, "asking again", `document.getElementById("key")?.value === ""`)
	give("s3cret")
	until(t, ctx, "the site", `!!document.querySelector(".tiles")`)
	evaluate[any](t, ctx, `document.querySelector("#top-page a").click()`)
	until(t, ctx, "a filter", `!!document.querySelector(".chip") && location.search.startsWith("?page=")`)
	evaluate[any](t, ctx, `history.back()`)
	until(t, ctx, "the page before", `!document.querySelector(".chip") && !!document.querySelector(".tiles")`)
	if err := chromedp.Do(ctx, chromedp.Navigate(server.URL+"/sites/shop.example")); err != nil {
		t.Fatal(err)
	}
	until(t, ctx, "the site after a reload", `!!document.querySelector(".tiles")`)
	if stored := evaluate[string](t, ctx, `Object.keys(localStorage).join() + document.cookie`); stored != "" || len(seen) > 0 {
		t.Errorf("the key is kept in %q, or was sent in %q", stored, seen)
	}
}

// What somebody downloads with a read key has the name that the server gives it; without one, a name made of its address.
func TestDownloadsWithAKeyKeepTheServersName(t *testing.T) {
	ctx := openBrowser(t)
	pages, name := newPage(shared(t)), atomic.Value{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/") {
			pages.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/csv")
		w.Header().Set("Content-Disposition", name.Load().(string))
	}))
	defer server.Close()
	looks[0].take(t, ctx, server.URL+"/")
	evaluate[any](t, ctx, `sessionStorage.setItem("footfall-read-key", "k")`)
	for _, c := range [][2]string{
		{`attachment; filename="link-autumn-sale-referrers.csv"`, "link-autumn-sale-referrers.csv"}, {"attachment; filename=a-b.zip", "a-b.zip"},
		{"attachment; filename*=utf-8''%C3%BC-2026.csv", "ü-2026.csv"}, {"attachment", "autumn-sale-referrers.csv"},
	} {
		name.Store(c[0])
		looks[0].take(t, ctx, server.URL+"/links/autumn-sale")
		evaluate[any](t, ctx, `HTMLAnchorElement.prototype.click = function () { window.saved = this.download }; document.querySelector("#referrers a[download]").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }))`)
		until(t, ctx, c[0], `window.saved === "`+c[1]+`"`)
	}
}

// The keyboard reaches every link, button and field of a page, in the order of the page, and each shows that it has the focus.
func TestByKeyboardAlone(t *testing.T) {
	ctx := openBrowser(t)
	server := httptest.NewServer(newPage(shared(t)))
	defer server.Close()
	for _, path := range []string{"/", "/links/autumn-sale", "/sites/shop.example?referrer=google.com"} {
		looks[0].take(t, ctx, server.URL+path)
		all := evaluate[int](t, ctx, `[...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")].filter((e) => e.checkVisibility() && e.type !== "hidden").length`)
		reached := map[string]bool{}
		for range all {
			if err := chromedp.Do(ctx, chromedp.KeyEvent(kb.Tab)); err != nil {
				t.Fatal(err)
			}
			at := evaluate[string](t, ctx, `(() => { const e = document.activeElement, all = [...document.querySelectorAll("*")], s = getComputedStyle(e);
				return e === document.body ? "" : all.indexOf(e) + (s.outlineStyle === "none" || parseFloat(s.outlineWidth) < 2 ? " without a ring: " + e.outerHTML.slice(0, 100) : ""); })()`)
			if at == "" || reached[at] || strings.Contains(at, "without") {
				t.Errorf("%s: after %d of %d the focus is at %q", path, len(reached), all, at)
				break
			}
			reached[at] = true
		}
	}
}
