package e2e

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"footfall/deployments/stack"
	"footfall/test/e2e/process"
	"footfall/test/harness"
)

// TestPagesInABrowser opens pages that load the script from another origin in a real browser, follows links between them and closes a
// tab while its beacon is under way. Exactly the views that a browser showed are counted.
func TestPagesInABrowser(t *testing.T) {
	browser := openBrowser(t)
	d := newEmbedded(t)
	gate := newGate(t, d.url)
	site := newSite(t, gate.URL, "")

	// From a page of another site to /one, to /two, and to two pages that opt out: one visitor, three views with the one below.
	first := browser.tab(t)
	first.run(t, chromedp.Navigate(site.elsewhere+"/start"))
	first.follow(t, "one")
	// The page reports a view without loading: it has no referrer, and its path is too long in bytes, not in characters.
	if _, err := chromedp.Run(first, chromedp.Evaluate[any](`footfall("/" + "ü".repeat(600))`)); err != nil {
		t.Fatal(err)
	}
	cut := "/" + strings.Repeat("ü", 511)
	first.follow(t, "two")
	first.follow(t, "off")
	first.follow(t, "htmloff")
	// Another tab is another visitor.
	second := browser.tab(t)
	second.run(t, chromedp.Navigate(site.here+"/one"))
	// Visitors who ask not to be tracked are not counted.
	for _, wish := range []string{"doNotTrack", "globalPrivacyControl"} {
		shy := browser.tab(t)
		_, err := chromedp.Call(shy, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
			Source: `Object.defineProperty(Navigator.prototype, "` + wish + `", {value: "1"})`,
		})
		if err != nil {
			t.Fatal(err)
		}
		shy.run(t, chromedp.Navigate(site.here+"/one"))
	}
	// A tab is closed before the producer has answered.
	gate.hold()
	hasty := browser.tab(t)
	hasty.run(t, chromedp.Navigate(site.here+"/three"))
	gate.waiting(t)
	hasty.close()
	gate.release()

	want := map[string]int64{
		"month_views  ":               5,
		"month_views  " + cut:         1,
		"month_unique  " + cut:        1,
		"month_views  /one":           2,
		"month_views  /two":           1,
		"month_views  /three":         1,
		"month_views 127.0.0.1 ":      1,
		"month_unique  ":              3,
		"month_unique  /one":          2,
		"month_unique 127.0.0.1 ":     1,
		"month_unique 127.0.0.1 /one": 1,
		"month_unique  /two":          1,
		"month_unique  /three":        1,
	}
	harness.Within(t, time.Minute, "counting the views", func() error {
		got := d.visits(t, "site1")
		for cell, n := range want {
			if got[cell] != n {
				return fmt.Errorf("%q is %d, want %d; all: %v", cell, got[cell], n, got)
			}
		}
		return nil
	})
	if n := gate.beacons.Load(); n != 5 {
		t.Errorf("%d beacons were sent, want 5", n)
	}
	if got := d.visits(t, "site1"); len(got) != len(want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	first.clean(t)
	for _, complaint := range browser.said.Take() {
		t.Error("the browser says: " + complaint)
	}
}

// TestPagesWithAKey: the producer wants a key. Views of a page that has one and whose origin is listed are counted. Views of the same page
// under another origin are refused, and a metric counts them.
func TestPagesWithAKey(t *testing.T) {
	browser := openBrowser(t)
	ports, err := stack.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprint("127.0.0.1:", ports[0]) // chosen here: the pages need the address, and the configuration needs the pages' origin
	gate := newGate(t, "http://"+address)
	site := newSite(t, gate.URL, `data-key="ours"`)
	d := newEmbedded(t, "FOOTFALL_HTTP_ADDR="+address, "FOOTFALL_ACCESS_OPEN=false",
		`FOOTFALL_ACCESS_SITES=[{"site":"site1","key_hashes":["`+fmt.Sprintf("%x", sha256.Sum256([]byte("ours")))+`"],"origins":["`+site.here+`"]}]`)

	listed := browser.tab(t)
	listed.run(t, chromedp.Navigate(site.elsewhere+"/start"))
	listed.follow(t, "one")
	listed.follow(t, "two")
	want := map[string]int64{
		"month_views  ": 2, "month_views  /one": 1, "month_views  /two": 1, "month_views 127.0.0.1 ": 1,
		"month_unique  ": 1, "month_unique  /one": 1, "month_unique  /two": 1, "month_unique 127.0.0.1 ": 1, "month_unique 127.0.0.1 /one": 1,
	}
	counted := func() error {
		if got := d.visits(t, "site1"); !maps.Equal(got, want) {
			return fmt.Errorf("counted %v, want %v", got, want)
		}
		return nil
	}
	harness.Within(t, time.Minute, "counting the views", counted)
	for _, complaint := range browser.said.Take() {
		t.Error("the browser says: " + complaint)
	}

	other := browser.tab(t)
	other.run(t, chromedp.Navigate(site.elsewhere+"/one"))
	harness.Within(t, time.Minute, "the refusal", func() error {
		measured, err := process.Metrics(t.Context(), d.admin)
		if err != nil {
			return err
		}
		if n := measured[`footfall_producer_refused_total{reason="origin_not_allowed"}`]; n != 1 {
			return fmt.Errorf("%v views from an origin that is not listed were refused, want 1", n)
		}
		return nil
	})
	// One more view shows that counting goes on and that the refused one was not counted.
	listed.run(t, chromedp.Navigate(site.here+"/three"))
	want["month_views  "], want["month_views  /three"], want["month_unique  /three"] = 3, 1, 1
	harness.Within(t, time.Minute, "counting one more view", counted)
}

// visits are the monthly counters of a site, by metric and features.
func (d *embedded) visits(t *testing.T, siteID string) map[string]int64 {
	t.Helper()
	rows, err := d.visited.Query("SELECT metric_type, feature1, feature2, visits FROM counts WHERE siteId = ? AND metric_type LIKE 'month_%'", siteID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	got := map[string]int64{}
	for rows.Next() {
		var metric, feature1, feature2 string
		var n int64
		if err := rows.Scan(&metric, &feature1, &feature2, &n); err != nil {
			t.Fatal(err)
		}
		got[metric+" "+feature1+" "+feature2] = n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return got
}
