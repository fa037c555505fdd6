package intake_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"footfall/configs"
)

func hashOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// guarded is a producer with keys.
func guarded(cfg *configs.Producer) {
	cfg.Access = configs.Access{Sites: []configs.Site{
		{Site: "shop", KeyHashes: []string{hashOf("shop-old"), hashOf("shop-new")}, Origins: []string{"https://Shop.example/", "http://localhost:3000"}},
		{Site: "blog*", KeyHashes: []string{hashOf("blog-key")}, Origins: []string{"*"}},
		{Site: "*", Links: "*", CreateLinks: true, KeyHashes: []string{hashOf("service")}},
		{Links: "promo-*", CreateLinks: true, KeyHashes: []string{hashOf("promo")}},
		{Links: "promo-*", KeyHashes: []string{hashOf("counter")}},
	}}
}

// request is how a key is sent.
type request struct{ bearer, query, origin string }

func (q request) send(t *testing.T, d *runningServer, path, body string) reply {
	t.Helper()
	header := http.Header{}
	if q.bearer != "" {
		header.Set("Authorization", q.bearer)
	}
	if q.origin != "" {
		header.Set("Origin", q.origin)
	}
	if q.query != "" {
		path += "?key=" + q.query
	}
	return d.do(t, http.MethodPost, path, header, strings.NewReader(body))
}

// writeKeys: who may write what, and what the others are told. Nothing of theirs is in Kafka.
func writeKeys(t *testing.T, b broker) {
	d := startServer(t, b, guarded)
	accepted := 0
	f := func(q request, path, body string, status int, reason string) {
		t.Helper()
		if status == http.StatusAccepted {
			accepted++
		}
		r := q.send(t, d, path, body)
		if r.status != status || r.Error != reason {
			t.Errorf("%+v %s %s = %d %s, want %d %s", q, path, body, r.status, r.raw, status, reason)
		}
		if (r.header.Get("WWW-Authenticate") != "") != (status == http.StatusUnauthorized) {
			t.Errorf("%d with WWW-Authenticate %q", r.status, r.header.Get("WWW-Authenticate"))
		}
	}
	const shop, blog, promo = `{"siteId":"shop","guid":"g"}`, `{"siteId":"blog-7","guid":"g"}`, `{"short_url":"promo-1","ip":"203.0.113.7"}`
	f(request{bearer: "Bearer shop-old"}, "/v1/visits", shop, 202, "")
	f(request{bearer: "bearer  shop-new"}, "/v1/visits", shop, 202, "")
	f(request{query: "shop-new"}, "/v1/visits", shop, 202, "")
	f(request{query: "shop-new"}, "/track", "siteId=shop&guid=g", 202, "")
	f(request{query: "shop-new", origin: "https://shop.example"}, "/v1/visits", shop, 202, "")
	f(request{query: "shop-new", origin: "http://localhost:3000"}, "/v1/visits", shop, 202, "")
	f(request{query: "blog-key", origin: "https://anyone.example"}, "/v1/visits", blog, 202, "")
	f(request{bearer: "Bearer service"}, "/v1/visits", shop, 202, "")
	f(request{bearer: "Bearer service"}, "/v1/clicks", promo, 202, "")
	f(request{bearer: "Bearer promo"}, "/v1/clicks", promo, 202, "")

	f(request{}, "/v1/visits", shop, 401, "missing_key")
	f(request{}, "/v1/visits", "{", 401, "missing_key")
	f(request{bearer: "Bearer "}, "/v1/visits", shop, 401, "missing_key")
	f(request{bearer: "Basic c2hvcC1uZXc="}, "/v1/visits", shop, 401, "missing_key")
	f(request{bearer: "shop-new"}, "/v1/visits", shop, 401, "missing_key")
	f(request{origin: "https://shop.example"}, "/v1/visits", shop, 401, "missing_key")
	f(request{}, "/track", "siteId=shop&guid=g&key=shop-new", 401, "missing_key")
	f(request{bearer: "Bearer wrong"}, "/v1/visits", shop, 403, "wrong_key")
	f(request{bearer: "Bearer " + hashOf("shop-new")}, "/v1/visits", shop, 403, "wrong_key") // the configuration leaked
	f(request{bearer: "Bearer shop-new", query: "service"}, "/v1/clicks", promo, 403, "wrong_key")
	f(request{bearer: "Bearer shop-new"}, "/v1/visits", blog, 403, "wrong_key")
	f(request{bearer: "Bearer shop-new"}, "/v1/visits", `{"siteId":"Shop","guid":"g"}`, 403, "wrong_key")
	f(request{bearer: "Bearer shop-new"}, "/v1/visits", `{"siteId":"shop2","guid":"g"}`, 403, "wrong_key")
	f(request{bearer: "Bearer shop-new"}, "/v1/clicks", promo, 403, "wrong_key")
	f(request{bearer: "Bearer promo"}, "/v1/clicks", `{"short_url":"abc","ip":"203.0.113.7"}`, 403, "wrong_key")
	f(request{bearer: "Bearer promo"}, "/v1/visits", shop, 403, "wrong_key")
	f(request{query: "shop-new", origin: "https://evil.example"}, "/v1/visits", shop, 403, "origin_not_allowed")
	f(request{query: "shop-new", origin: "http://shop.example"}, "/v1/visits", shop, 403, "origin_not_allowed")
	f(request{query: "shop-new", origin: "https://shop.example:8443"}, "/v1/visits", shop, 403, "origin_not_allowed")
	f(request{query: "shop-new", origin: "https://shop.example.evil.example"}, "/v1/visits", shop, 403, "origin_not_allowed")
	f(request{query: "shop-new", origin: "null"}, "/v1/visits", shop, 403, "origin_not_allowed")
	f(request{query: "service", origin: "https://shop.example"}, "/v1/visits", shop, 403, "origin_not_allowed")

	r := d.batch(t, "/v1/visits", http.Header{"Authorization": {"Bearer shop-new"}}, "["+shop+","+blog+"]", http.StatusMultiStatus, 2)
	if r.Results[0].Status != http.StatusAccepted || r.Results[1].Error != "wrong_key" || r.Results[1].Status != http.StatusForbidden {
		t.Errorf("a batch for two sites: %+v", r)
	}
	if r := d.do(t, http.MethodGet, "/pixel.gif?siteId=shop&guid=g", nil, nil); r.Error != "missing_key" {
		t.Errorf("a pixel without a key: %d %s", r.status, r.raw)
	}
	if r := d.do(t, http.MethodGet, "/pixel.gif?siteId=shop&guid=g&key=shop-new", nil, nil); r.status != http.StatusOK {
		t.Errorf("a pixel with a key: %d %s", r.status, r.raw)
	}
	pixel := func(query, referer, site string, status int, reason string) {
		t.Helper()
		if status == http.StatusOK {
			accepted++
		}
		header := http.Header{}
		if referer != "" {
			header.Set("Referer", referer)
		}
		if site != "" {
			header.Set("Sec-Fetch-Site", site)
		}
		if r := d.do(t, http.MethodGet, "/pixel.gif?guid=g&"+query, header, nil); r.status != status || r.Error != reason {
			t.Errorf("a pixel of %q, %s = %d %s, want %d %s", referer, site, r.status, r.raw, status, reason)
		}
	}
	const picture = "siteId=shop&key=shop-new"
	pixel(picture, "https://shop.example/", "cross-site", 200, "")
	pixel(picture, "https://SHOP.example/a?b", "", 200, "")
	pixel(picture, "", "same-origin", 200, "")
	pixel("siteId=blog-7&key=blog-key", "", "cross-site", 200, "")
	pixel("siteId=blog-7&key=blog-key", "https://anyone.example/", "cross-site", 200, "")
	pixel("siteId=shop&key=service", "https://anyone.example/", "cross-site", 200, "") // it lists no origins
	pixel(picture, "https://evil.example/", "cross-site", 403, "origin_not_allowed")
	pixel(picture, "https://evil.example/", "", 403, "origin_not_allowed")
	pixel(picture, "https://shop.example.evil.example/", "", 403, "origin_not_allowed")
	pixel(picture, "https://shop.example@evil.example/", "", 403, "origin_not_allowed")
	pixel(picture, "http://shop.example/", "", 403, "origin_not_allowed")
	pixel(picture, "shop.example", "", 403, "origin_not_allowed")
	pixel(picture, "", "cross-site", 403, "origin_not_allowed")
	in := len(messages(t, d.broker, d.topics.Visits)) + len(messages(t, d.broker, d.topics.Clicks))
	if in != accepted+2 {
		t.Errorf("%d events in Kafka, want %d", in, accepted+2)
	}
	for _, secret := range []string{"shop-new", "service", "wrong", "127.0.0.1"} {
		if log := strings.NewReplacer(d.addr, "", strings.TrimPrefix(d.admin, "http://"), "").Replace(d.log.String()); strings.Contains(log, secret) {
			t.Errorf("the log has %q: %s", secret, log)
		}
	}
}

// onlySites: a form without a site is of the one that its key, or its origin, is for; where there are more it is refused.
func onlySites(t *testing.T, b broker) {
	both := []string{hashOf("both")}
	sites := []configs.Site{
		{Site: "shop", KeyHashes: []string{hashOf("shop"), hashOf("both")}, Origins: []string{"https://shop.example", "https://shared.example"}},
		{Site: "blog", KeyHashes: both, Origins: []string{"https://blog.example", "https://shared.example"}},
		{Site: "many*", KeyHashes: []string{hashOf("many")}},
		{Links: "promo-*", KeyHashes: []string{hashOf("promo"), hashOf("shop")}},
	}
	closed := startServer(t, b, func(cfg *configs.Producer) { cfg.Access = configs.Access{Sites: sites} })
	open := startServer(t, b, func(cfg *configs.Producer) { cfg.Access = configs.Access{Open: true} })
	f := func(d *runningServer, q request, site string) {
		t.Helper()
		r := q.send(t, d, "/track", "guid=g&feature1=facebook.com")
		in := 0
		for _, m := range messages(t, d.broker, d.topics.Visits) {
			if text := string(m.Value); strings.Contains(text, `"id":"`+r.ID+`"`) && strings.Contains(text, `"siteId":"`+site+`"`) {
				in++
			}
		}
		switch {
		case site == "" && (r.status != http.StatusBadRequest || r.Error != "missing_site_id"):
			t.Errorf("%+v = %d %s, want missing_site_id", q, r.status, r.raw)
		case site != "" && (r.status != http.StatusAccepted || in != 1):
			t.Errorf("%+v = %d %s, in Kafka %d, want a visit of %s", q, r.status, r.raw, in, site)
		}
	}
	f(closed, request{query: "shop"}, "shop")
	f(closed, request{query: "shop", origin: "https://shop.example"}, "shop")
	f(closed, request{query: "both"}, "")
	f(closed, request{query: "both", origin: "https://blog.example"}, "blog")
	f(closed, request{query: "both", origin: "https://shared.example"}, "")
	f(closed, request{query: "many"}, "")
	f(closed, request{query: "promo"}, "")
	f(open, request{}, "")
	f(open, request{origin: "https://blog.example"}, "")
}

// crossOrigin: what a browser asks before it lets a page send, and what it looks at afterwards.
func crossOrigin(t *testing.T, b broker) {
	closed, open := startServer(t, b, guarded), startServer(t, b, nil)
	preflight := func(d *runningServer, path, origin string) reply {
		t.Helper()
		return d.do(t, http.MethodOptions, path, http.Header{"Origin": {origin}, "Access-Control-Request-Method": {"POST"},
			"Access-Control-Request-Headers": {"content-type"}}, nil)
	}
	for _, path := range []string{"/v1/visits", "/v1/clicks", "/track"} {
		for _, d := range []*runningServer{closed, open} {
			r := preflight(d, path, "https://shop.example")
			if r.status != http.StatusNoContent || r.header.Get("Access-Control-Allow-Origin") != "https://shop.example" ||
				r.header.Get("Access-Control-Allow-Methods") != "POST" || !strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "Content-Type") ||
				!strings.Contains(strings.Join(r.header.Values("Vary"), ","), "Origin") || r.header.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("preflight of %s = %d %v", path, r.status, r.header)
			}
		}
	}
	only := startServer(t, b, func(cfg *configs.Producer) { guarded(cfg); cfg.Access.Sites = cfg.Access.Sites[:1] })
	r := preflight(only, "/v1/visits", "https://evil.example")
	if r.status != http.StatusForbidden || r.Error != "origin_not_allowed" || r.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight of a stranger = %d %s %v", r.status, r.raw, r.header)
	}
	// An answer can be read by the page that is allowed, an error too, and by no other.
	for origin, want := range map[string]string{"https://shop.example": "https://shop.example", "https://evil.example": "", "null": "", "*": ""} {
		r := request{query: "wrong", origin: origin}.send(t, only, "/v1/visits", `{}`)
		if got := r.header.Get("Access-Control-Allow-Origin"); got != want || r.header.Get("Vary") != "Origin" {
			t.Errorf("origin %s is answered with Access-Control-Allow-Origin %q, Vary %q", origin, got, r.header.Get("Vary"))
		}
	}
	if r := only.do(t, http.MethodOptions, "/v1/visits", nil, nil); r.status != http.StatusNoContent || r.header.Get("Allow") != "POST" {
		t.Errorf("OPTIONS without an origin = %d %v", r.status, r.header)
	}
	if r := preflight(open, "/healthz", "https://shop.example"); r.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("health is open to pages: %v", r.header)
	}
}
