package intake_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"footfall/configs"
)

// limited: a client that sends too much gets a Retry-After, and other clients do not wait.
func limited(t *testing.T, b broker) {
	refused := func(what string, r reply, reason string) {
		t.Helper()
		wait, err := strconv.Atoi(r.header.Get("Retry-After"))
		if r.status != http.StatusTooManyRequests || r.Error != reason || err != nil || wait < 1 {
			t.Errorf("%s = %d %s, Retry-After %q", what, r.status, r.raw, r.header.Get("Retry-After"))
		}
	}
	taken := func(what string, r reply) {
		t.Helper()
		if r.status != http.StatusAccepted {
			t.Errorf("%s = %d %s", what, r.status, r.raw)
		}
	}
	const slow = 0.001 // so that no token comes back while the test runs

	clients := startServer(t, b, func(cfg *configs.Producer) {
		cfg.Limits = configs.Limits{ClientPerSecond: slow, ClientBurst: 2}
		cfg.HTTP.TrustedProxies = []string{"127.0.0.1"}
	})
	from := func(ip, body string) reply {
		return clients.do(t, http.MethodPost, "/v1/visits", http.Header{"X-Forwarded-For": {ip}}, strings.NewReader(body))
	}
	const one = `{"siteId":"s","guid":"g"}`
	taken("the first of a client", from("203.0.113.7", one))
	taken("the second", from("spoofed, 203.0.113.7", one))
	refused("the third", from("1.2.3.4, 203.0.113.7", one), "rate_limited")
	taken("another client's", from("203.0.113.8", one))
	if r := from("203.0.113.9", "["+one+","+one+","+one+"]"); r.status != http.StatusAccepted {
		t.Errorf("a batch over the burst = %d %s", r.status, r.raw)
	}
	refused("after it", from("203.0.113.9", one), "rate_limited")
	refused("a pixel", clients.do(t, http.MethodGet, "/pixel.gif?siteId=s&guid=g", http.Header{"X-Forwarded-For": {"203.0.113.9"}}, nil), "rate_limited")
	if r := clients.do(t, http.MethodGet, "/healthz", http.Header{"X-Forwarded-For": {"203.0.113.9"}}, nil); r.status != http.StatusOK {
		t.Errorf("health is limited: %d", r.status)
	}

	narrow := startServer(t, b, func(cfg *configs.Producer) { cfg.Limits = configs.Limits{ClientPerSecond: 2, ClientBurst: 1} })
	for i := range 2 { // what Retry-After says is true of batches too
		r := narrow.do(t, http.MethodPost, "/v1/visits", nil, strings.NewReader("["+one+","+one+"]"))
		if r.status == http.StatusTooManyRequests && i == 1 {
			wait, err := strconv.Atoi(r.header.Get("Retry-After"))
			must(t, err)
			time.Sleep(time.Duration(wait) * time.Second)
			r = narrow.do(t, http.MethodPost, "/v1/visits", nil, strings.NewReader("["+one+","+one+"]"))
		}
		taken("a batch over a burst of one", r)
	}

	untrusting := startServer(t, b, func(cfg *configs.Producer) { cfg.Limits = configs.Limits{ClientPerSecond: slow, ClientBurst: 2} })
	for i := range 3 {
		r := untrusting.do(t, http.MethodPost, "/v1/visits", http.Header{"X-Forwarded-For": {fmt.Sprint("203.0.113.", i)}}, strings.NewReader(one))
		if i < 2 {
			taken("within the burst", r)
		} else {
			refused("a client that calls itself another each time", r, "rate_limited")
		}
	}

	hidden := startServer(t, b, func(cfg *configs.Producer) {
		guarded(cfg)
		cfg.Limits = configs.Limits{PageClientPerSecond: slow, PageClientBurst: 2}
	})
	for i := range 5 { // a proxy that the configuration does not name
		r := hidden.do(t, http.MethodPost, "/v1/visits?key=shop-new", http.Header{"X-Forwarded-For": {fmt.Sprint("203.0.113.", i)}}, strings.NewReader(`{"siteId":"shop","guid":"g"}`))
		if i < 2 {
			taken("within the burst of a page", r)
		} else {
			refused("one more of a page", r, "rate_limited")
		}
	}
	warned := func(of *runningServer) {
		t.Helper()
		if n := strings.Count(of.log.String(), "http.trusted_proxies"); n != 1 {
			t.Errorf("warned %d times of what may be a proxy: %s", n, of.log)
		}
	}
	warned(hidden)

	reduced := startServer(t, b, func(cfg *configs.Producer) {
		guarded(cfg)
		cfg.Limits = configs.Limits{PageClientNewKeysPerMinute: 2}
	})
	for i := range 4 { // it is not refused, but counts as one client
		taken("new features of a page", reduced.do(t, http.MethodPost, "/v1/visits?key=shop-new", http.Header{"X-Forwarded-For": {"203.0.113.7"}},
			strings.NewReader(fmt.Sprintf(`{"siteId":"shop","guid":"g","feature1":"%d"}`, i))))
	}
	warned(reduced)

	sites := startServer(t, b, func(cfg *configs.Producer) { cfg.Limits = configs.Limits{SitePerSecond: slow, SiteBurst: 2} })
	r := sites.batch(t, "/v1/visits", nil, `[`+one+`,`+one+`,`+one+`,{"siteId":"t","guid":"g"}]`, http.StatusMultiStatus, 4)
	for i, want := range []string{"", "", "rate_limited", ""} {
		if r.Results[i].Error != want {
			t.Errorf("event %d for a limited site: %+v", i, r.Results[i])
		}
	}
	refused("one more for the site", sites.post(t, "/track?siteId=s", "", "guid=g"), "rate_limited")
	taken("a click", sites.post(t, "/v1/clicks", "", `{"short_url":"s","ip":"203.0.113.7"}`))

	keys := startServer(t, b, func(cfg *configs.Producer) { cfg.Limits = configs.Limits{NewKeysPerMinute: 3} })
	for i := range 6 {
		r := keys.post(t, "/v1/clicks", "", fmt.Sprintf(`{"short_url":"l%d","ip":"203.0.113.7"}`, i))
		if i < 3 {
			taken("a new link", r)
		} else {
			refused("a new link too many", r, "too_many_new_keys")
		}
	}
	taken("a known link", keys.post(t, "/v1/clicks", "", `{"short_url":"l1","ip":"203.0.113.7"}`))
	if got := keys.metric(t, `footfall_producer_refused_total{reason="too_many_new_keys"}`); got != "3" {
		t.Errorf("counted %q", got)
	}
}
