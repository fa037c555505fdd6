package intake_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"footfall/configs"
	"footfall/models"
)

// upload sends gzipped batches of so many made-up visitors of a site, or of one, and returns how many were accepted and how many bytes were
// sent.
func upload(t *testing.T, d *runningServer, key, client string, batches int, one bool) (taken, bytes int) {
	t.Helper()
	for b := range batches {
		var text strings.Builder
		for i := range 1000 {
			guid := "me"
			if !one {
				guid = fmt.Sprint(b, "-", i)
			}
			fmt.Fprintf(&text, `{"siteId":"shop","guid":"%s","feature1":"a","feature2":"b","id":"%d-%d"}`+"\n", guid, b, i)
		}
		body := zip(text.String())
		r := d.do(t, http.MethodPost, "/v1/visits", http.Header{"Authorization": {"Bearer " + key}, "X-Forwarded-For": {client},
			"Content-Type": {linesType}, "Content-Encoding": {"gzip"}}, strings.NewReader(body))
		taken += strings.Count(r.raw, `"status":202`)
		bytes += len(body)
	}
	return taken, bytes
}

// inventedVisitors: the default limits bound made-up visitors. A new guid makes twelve rows that stay for ever, and a thousand guids fit
// into three kilobytes.
func inventedVisitors(t *testing.T, b broker) {
	d := startServer(t, b, func(cfg *configs.Producer) {
		guarded(cfg)
		cfg.HTTP.TrustedProxies = []string{"127.0.0.1"}
	})
	began := time.Now()
	// With the key of a page: one batch is accepted, and then twenty a second.
	taken, bytes := upload(t, d, "shop-new", "203.0.113.7", 10, false)
	t.Logf("by a page's key: %d visitors of 10,000 were taken, of %d bytes", taken, bytes)
	if taken > 2000 || taken == 0 {
		t.Errorf("one client made %d visitors with %d bytes and the key of a page", taken, bytes)
	}
	visit := func(key, client, site, guid string, status int, reason string) {
		t.Helper()
		r := d.do(t, http.MethodPost, "/v1/visits", http.Header{"Authorization": {"Bearer " + key}, "X-Forwarded-For": {client}},
			strings.NewReader(`{"siteId":"`+site+`","guid":"`+guid+`"}`))
		if r.status != status || r.Error != reason {
			t.Errorf("a visit of %s on %s by %s: %d %s, want %d %s", guid, site, client, r.status, r.raw, status, reason)
		}
	}
	visit("shop-new", "203.0.113.7", "shop", "me", 429, "rate_limited")
	direct := d.do(t, http.MethodPost, "/v1/visits", http.Header{"Authorization": {"Bearer shop-new"}}, strings.NewReader(`{"siteId":"shop","guid":"me"}`))
	if direct.status != http.StatusAccepted {
		t.Errorf("without a proxy: %d %s", direct.status, direct.raw)
	}
	visit("shop-new", "203.0.113.8", "shop", "me", 202, "") // others are not made to wait
	visit("service", "203.0.113.7", "shop", "me", 202, "")  // nor is a service at the same address

	// With a service's key: as many as a large site has in a minute, beside those of pages, which are known by now.
	more, bytes := upload(t, d, "service", "203.0.113.9", 35, false)
	t.Logf("by a service's key: %d visitors of 35,000 were taken, of %d bytes", more, bytes)
	most := 30_000 + taken + 500*int(1+time.Since(began)/time.Second)
	if more > most || more < 15_000 {
		t.Errorf("%d visitors of a site in a minute, made with %d bytes", more, bytes)
	}
	visit("service", "203.0.113.9", "shop", "0-7", 202, "") // a known visitor is not limited
	visit("service", "203.0.113.9", "elsewhere", "0-7", 202, "")

	// To one partition a key sends less than consumers keep ids of.
	began = time.Now()
	same, _ := upload(t, d, "service", "203.0.113.9", 30, true)
	if most := 20_000 + 1000*int(1+time.Since(began)/time.Second); same < 10_000 || same > most {
		t.Errorf("%d of 30,000 events of one visitor were taken at once, want %d at the most", same, most)
	}
}

// inventedValues: with the key of a page ten addresses make up few values of a feature by default, and a visit beyond counts as (other). An
// honest visitor's event counts, whatever others made up. Events of other times are refused.
func inventedValues(t *testing.T, b broker) {
	d := startServer(t, b, func(cfg *configs.Producer) {
		guarded(cfg)
		cfg.HTTP.TrustedProxies = []string{"127.0.0.1"}
	})
	from := func(client, key string) http.Header {
		return http.Header{"Authorization": {"Bearer " + key}, "X-Forwarded-For": {client}, "Content-Type": {linesType}}
	}
	accepted, reduced := 0, 0
	for client := range 10 {
		body := lines(1000, fmt.Sprintf(`{"siteId":"shop","guid":"g%d","feature1":"made up %d-%%d","feature2":"x","id":"%d-%%d"}`, client, client, client))
		r := d.do(t, http.MethodPost, "/v1/visits", from(fmt.Sprintf("203.0.%d.7", client), "shop-new"), strings.NewReader(body))
		accepted += strings.Count(r.raw, `"status":202`)
		reduced += strings.Count(r.raw, `"reduced":"too_many_new_keys"`)
	}
	visit := func(key, fields string) reply {
		header := from("198.51.100.7", key)
		header.Del("Content-Type")
		return d.do(t, http.MethodPost, "/v1/visits", header, strings.NewReader(`{"siteId":"shop","guid":"me",`+fields+`}`))
	}
	if r := visit("shop-new", `"feature1":"home"`); r.status != http.StatusAccepted || strings.Contains(r.raw, "reduced") {
		t.Errorf("an honest visit: %d %s", r.status, r.raw)
	}
	if r := visit("service", `"feature1":"(other)"`); r.status != http.StatusAccepted || strings.Contains(r.raw, "reduced") {
		t.Errorf("a visit that says (other): %d %s", r.status, r.raw)
	}
	old := fmt.Sprintf(`"ts":%d`, time.Now().Add(-49*time.Hour).UnixMilli())
	if r := visit("shop-new", old); r.status != http.StatusBadRequest || r.Error != "too_old" {
		t.Errorf("a visit of two days ago by a page's key: %d %s", r.status, r.raw)
	}
	if r := visit("service", old); r.status != http.StatusAccepted {
		t.Errorf("a visit of two days ago by a service: %d %s", r.status, r.raw)
	}
	if got := d.metric(t, `footfall_producer_filtered_total{reason="too_many_new_keys"}`); got != strconv.Itoa(reduced) {
		t.Errorf("%d answers say that they were reduced, the metric %s", reduced, got)
	}
	d.close(t)
	values, others := map[string]bool{}, 0
	for _, m := range messages(t, d.broker, d.topics.Visits) {
		v, err := models.DefaultPlan().UnmarshalVisit(m.Value, true)
		must(t, err)
		if v.Features[0] == "(other)" {
			others++
			continue
		}
		values[v.Features[0]] = true
	}
	if accepted != 10*1000 || others != reduced+1 || len(values) < 10*60 || len(values) > 10*120 {
		t.Errorf("%d of 10,000 made-up values were taken, of %d visits; %d count as (other), %d by the answers", len(values), accepted, others, reduced)
	}
}

// inventedReferrers: the default limits bound made-up referrers, and how many people one client can be. Each referrer makes a row that
// stays for ever, and following a link needs no key.
func inventedReferrers(t *testing.T, b broker) {
	store := &linkStore{}
	store.all.Store("abc", "https://example.org/")
	d := startServerWith(t, b, store, func(cfg *configs.Producer) { cfg.Links.Enabled = true })
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	const redirects = 1000
	began := time.Now()
	for i := range redirects {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+"/abc", nil)
		must(t, err)
		request.Header.Set("Referer", fmt.Sprintf("https://r%d.example/", i))
		request.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
		response, err := client.Do(request)
		must(t, err)
		must(t, response.Body.Close())
		if response.StatusCode != http.StatusFound {
			t.Fatalf("redirect %d: %s", i, response.Status)
		}
	}
	most := 60 + 1 + int(1+time.Since(began)/time.Second) // and the empty one
	d.close(t)                                            // which writes what is queued
	people, referrers, clicks := 0, map[string]bool{}, messages(t, d.broker, d.topics.Clicks)
	for _, m := range clicks {
		c, err := models.UnmarshalClick(m.Value, true)
		must(t, err)
		referrers[c.Referrer] = true
		if !c.Bot {
			people++
		}
	}
	if least := 500; people < least || people > least+5*int(1+time.Since(began)/time.Second) {
		t.Errorf("%d of %d clicks of one client count as people's", people, redirects)
	}
	if len(clicks) != redirects || len(referrers) > most || len(referrers) < 60 {
		t.Errorf("%d clicks of %d redirects, with %d referrers", len(clicks), redirects, len(referrers))
	}
}
