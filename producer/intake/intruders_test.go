package intake_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"footfall/configs"
	"footfall/models"
)

// bearer is the header of a key.
func bearer(key string) string { return "Authorization: Bearer " + key }

// intruders are requests to a producer with keys, origins and links (guarded, keptLinks). None of them may get an event into Kafka or a
// link into the store.
func intruders() []hostileRequest {
	const shop, promo = `{"siteId":"shop","guid":"g"}`, `{"short_url":"promo-1","ip":"203.0.113.7"}`
	visits := func(body string, headers ...string) string { return raw("POST", "/v1/visits", headers, body) }
	clicks := func(body string, headers ...string) string { return raw("POST", "/v1/clicks", headers, body) }
	page := func(origin string) string { return visits(shop, bearer("shop-new"), "Origin: "+origin) }
	picture := func(headers ...string) string {
		return raw("GET", "/pixel.gif?siteId=shop&guid=g&key=shop-new", headers, "")
	}
	all := []hostileRequest{
		// Keys.
		{"no key", visits(shop), 401, "missing_key"},
		{"an empty key", visits(shop, "Authorization: Bearer "), 401, "missing_key"},
		{"a key without a scheme", visits(shop, "Authorization: shop-new"), 401, "missing_key"},
		{"a key as a password", visits(shop, "Authorization: Basic c2hvcC1uZXc6"), 401, "missing_key"},
		{"a key as a cookie", visits(shop, "Cookie: key=shop-new"), 401, "missing_key"},
		{"a key in another header", visits(shop, "X-Api-Key: shop-new"), 401, "missing_key"},
		{"a key in a form", raw("POST", "/track", nil, "siteId=shop&guid=g&key=shop-new"), 401, "missing_key"},
		{"a key beside the query", raw("POST", "/v1/visits?Key=shop-new", nil, shop), 401, "missing_key"},
		{"an empty key in the query", raw("POST", "/v1/visits?key=", nil, shop), 401, "missing_key"},
		{"a pixel without a key", get("/pixel.gif?siteId=shop&guid=g"), 401, "missing_key"},
		{"a link without a key", raw("POST", "/v1/links", nil, `{"long_url":"https://example.org/"}`), 401, "missing_key"},
		{"a wrong key", visits(shop, bearer("open sesame")), 403, "wrong_key"},
		{"a key's beginning", visits(shop, bearer("shop-ne")), 403, "wrong_key"},
		{"a key and more", visits(shop, bearer("shop-newer")), 403, "wrong_key"},
		{"a key in capitals", visits(shop, bearer("SHOP-NEW")), 403, "wrong_key"},
		{"a key's hash", visits(shop, bearer(hashOf("shop-new"))), 403, "wrong_key"},
		{"two keys as one", visits(shop, bearer("shop-old,shop-new")), 403, "wrong_key"},
		{"a giant wrong key", visits(shop, bearer(strings.Repeat("k", 8000))), 403, "wrong_key"},
		{"a wrong key in the query", raw("POST", "/v1/visits?key=%00", nil, shop), 403, "wrong_key"},
		{"a wrong key before a right one", visits(shop, bearer("wrong"), bearer("shop-new")), 403, "wrong_key"},
		{"a wrong header beside a right query", raw("POST", "/v1/visits?key=shop-new", []string{bearer("wrong")}, shop), 403, "wrong_key"},
		{"a wrong key before a right one in the query", raw("POST", "/v1/visits?key=wrong&key=shop-new", nil, shop), 403, "wrong_key"},
		{"two keys of a pixel", get("/pixel.gif?siteId=shop&guid=g&key=shop-new&key=shop-old"), 400, "repeated_field"},
		{"a wrong key and a body that is none", visits("{", bearer("wrong")), 403, "wrong_key"},
		{"a wrong key and a bomb", visits(bomb("["), bearer("wrong"), gzips), 403, "wrong_key"},

		// Keys of others.
		{"another site's key", visits(shop, bearer("blog-key")), 403, "wrong_key"},
		{"a key for links", visits(shop, bearer("promo")), 403, "wrong_key"},
		{"a site's key for a click", clicks(promo, bearer("shop-new")), 403, "wrong_key"},
		{"the site in capitals", visits(`{"siteId":"Shop","guid":"g"}`, bearer("shop-new")), 403, "wrong_key"},
		{"the site and a space", visits(`{"siteId":"shop ","guid":"g"}`, bearer("shop-new")), 403, "wrong_key"},
		{"the site in look-alikes", visits(`{"siteId":"sh\u043ep","guid":"g"}`, bearer("shop-new")), 403, "wrong_key"},
		{"the site and NUL", visits(`{"siteId":"shop\u0000","guid":"g"}`, bearer("shop-new")), 400, "site_id_has_nul"},
		{"a pattern as a site", visits(`{"siteId":"*","guid":"g"}`, bearer("blog-key")), 403, "wrong_key"},
		{"less than a pattern", visits(`{"siteId":"blo","guid":"g"}`, bearer("blog-key")), 403, "wrong_key"},
		{"a batch for others", visits("["+shop+","+shop+"]", bearer("blog-key")), 207, "wrong_key"},
		{"lines for others", visits(shop+"\n"+shop, ndjson, bearer("blog-key")), 207, "wrong_key"},
		{"two sites in a form", raw("POST", "/track?siteId=blog&key=blog-key", nil, "siteId=shop&guid=g"), 400, "repeated_field"},
		{"two sites in JSON", visits(`{"siteId":"blog","siteId":"shop","guid":"g"}`, bearer("blog-key")), 400, "repeated_field"},
		{"another's link", clicks(`{"short_url":"other","ip":"203.0.113.7"}`, bearer("promo")), 403, "wrong_key"},
		{"a link upwards", clicks(`{"short_url":"../promo-1","ip":"203.0.113.7"}`, bearer("promo")), 403, "wrong_key"},
		{"a link in capitals", clicks(`{"short_url":"PROMO-1","ip":"203.0.113.7"}`, bearer("promo")), 403, "wrong_key"},
		{"a link with NUL", clicks(`{"short_url":"promo-\u0000","ip":"203.0.113.7"}`, bearer("promo")), 400, "short_url_has_nul"},
		{"a click of two links", clicks(`{"short_url":"promo-1","Short_URL":"other"}`, bearer("promo")), 400, "unknown_field"},

		// Origins.
		{"another page", page("https://evil.example"), 403, "origin_not_allowed"},
		{"no page's origin", page("null"), 403, "origin_not_allowed"},
		{"the page without TLS", page("http://shop.example"), 403, "origin_not_allowed"},
		{"the page on another port", page("https://shop.example:8443"), 403, "origin_not_allowed"},
		{"the page's host and more", page("https://shop.example.evil.example"), 403, "origin_not_allowed"},
		{"more and the page's host", page("https://evilshop.example"), 403, "origin_not_allowed"},
		{"a part of the page's host", page("https://www.shop.example"), 403, "origin_not_allowed"},
		{"the page's host as a user", page("https://shop.example@evil.example"), 403, "origin_not_allowed"},
		{"the page in a path", page("https://evil.example/https://shop.example"), 403, "origin_not_allowed"},
		{"two origins as one", page("https://shop.example https://evil.example"), 403, "origin_not_allowed"},
		{"all origins", page("*"), 403, "origin_not_allowed"},
		{"another page before the right one", visits(shop, bearer("shop-new"), "Origin: https://evil.example", "Origin: https://shop.example"), 403, "origin_not_allowed"},
		{"another page's form", raw("POST", "/track?siteId=shop&key=shop-new", []string{"Origin: https://evil.example"}, "guid=g"), 403, "origin_not_allowed"},
		{"another page's beacon", raw("POST", "/track?siteId=shop&key=shop-new", []string{"Origin: https://evil.example", "Content-Type: text/plain"}, "guid=g"), 403, "origin_not_allowed"},
		{"a server's key on a page", visits(shop, bearer("service"), "Origin: https://shop.example"), 403, "origin_not_allowed"},
		{"a link from a page", raw("POST", "/v1/links", []string{bearer("promo"), "Origin: https://evil.example"}, `{"long_url":"https://example.org/"}`), 403, "origin_not_allowed"},
		{"a named link from a page", raw("POST", "/v1/links", []string{bearer("promo"), "Origin: https://evil.example"}, `{"short_url":"promo-9","long_url":"https://example.org/"}`), 403, "origin_not_allowed"},
		{"a picture on another page", picture("Referer: https://evil.example/"), 403, "origin_not_allowed"},
		{"a picture on a page that hides", picture("Sec-Fetch-Site: cross-site"), 403, "origin_not_allowed"},
		{"a picture whose page is a user's name", picture("Referer: https://shop.example@evil.example/"), 403, "origin_not_allowed"},
		{"a picture whose page is in a query", picture("Referer: https://evil.example/?https://shop.example/"), 403, "origin_not_allowed"},
		{"a picture on nothing", picture("Referer: about:blank"), 403, "origin_not_allowed"},
		{"a picture in a file", picture("Referer: file:///shop.example"), 403, "origin_not_allowed"},
		{"a preflight of another page", raw("OPTIONS", "/v1/links", []string{"Origin: https://evil.example:1", "Access-Control-Request-Method: POST"}, ""), 204, ""}, // blog* takes all origins; the POST is judged

		// Ways around a link.
		{"a link that is not there", get("/promo-0"), 404, "not_found"},
		{"a link in capitals", get("/PROMO-1"), 404, "not_found"},
		{"a link with an encoded letter", get("/%70romo-1"), 404, "not_found"},
		{"a link and a slash", get("/promo-1/"), 404, "not_found"},
		{"a link and a path", get("/promo-1/etc/passwd"), 404, "not_found"},
		{"a link upwards", get("/x/../promo-1"), 404, "not_found"},
		{"a link here", get("/./promo-1"), 404, "not_found"},
		{"a link after two slashes", get("//promo-1"), 404, "not_found"},
		{"a link of another host", get("//evil.example/promo-1"), 404, "not_found"},
		{"a link upwards, encoded", get("/..%2fpromo-1"), 404, "not_found"},
		{"a link upwards, encoded twice", get("/%252e%252e%252fpromo-1"), 404, "not_found"},
		{"a link and NUL", get("/promo-1%00"), 404, "not_found"},
		{"a link and a line", get("/promo-1%0d%0aSet-Cookie:x=1"), 404, "not_found"},
		{"a link and a parameter", get("/promo-1;x=1"), 404, "not_found"},
		{"a link and a backslash", get(`/promo-1%5c..`), 404, "not_found"},
		{"a link and bytes that are no text", get("/promo-1%ff"), 404, "not_found"},
		{"a link in wide letters", get("/%EF%BD%90romo-1"), 404, "not_found"},
		{"a link of all names", get("/promo-*"), 404, "not_found"},
		{"a link of CQL", get("/promo-1'%20OR%201=1--"), 404, "not_found"},
		{"a link that is too long", get("/promo-" + strings.Repeat("1", 500)), 404, "not_found"},
		{"a link that runs", get("/js"), 404, "not_found"},
		{"a link that is data", get("/data"), 404, "not_found"},
		{"a link to another scheme", get("/ftp"), 404, "not_found"},
		{"a link to nothing", get("/nowhere"), 404, "not_found"},
		{"a link that is posted to", raw("POST", "/promo-1", nil, "x"), 405, "method_not_allowed"},
		{"a link that is removed", raw("DELETE", "/promo-1", []string{bearer("promo")}, ""), 405, "method_not_allowed"},
		{"a link that is put", raw("PUT", "/v1/links", []string{bearer("promo")}, "x"), 405, "method_not_allowed"},
		{"all links", raw("GET", "/v1/links", []string{bearer("service")}, ""), 405, "method_not_allowed"},
	}
	makes := func(name, body string, status int, reason string) {
		all = append(all, hostileRequest{"making " + name, raw("POST", "/v1/links", []string{bearer("promo")}, body), status, reason})
	}
	makes("another's link", `{"short_url":"other","long_url":"https://example.org/"}`, 403, "wrong_key")
	makes("a taken link", `{"short_url":"promo-1","long_url":"https://evil.example/"}`, 409, "short_url_taken")
	makes("two links", `{"short_url":"promo-8","long_url":"https://example.org/","long_url":"https://evil.example/"}`, 400, "repeated_field")
	makes("a link in other capitals", `{"Short_URL":"promo-8","long_url":"https://example.org/"}`, 400, "unknown_field")
	makes("links", `[{"short_url":"promo-8","long_url":"https://example.org/"}]`, 400, "bad_json")
	makes("a link to nothing", `{"short_url":"promo-8"}`, 400, "missing_long_url")
	makes("a giant link", `{"short_url":"promo-8","long_url":"https://example.org/`+strings.Repeat("a", 2048)+`"}`, 400, "long_url_too_long")
	makes("a giant body", `{"short_url":"promo-8","long_url":"`+strings.Repeat(" ", 20<<10)+`"}`, 413, "body_too_large")
	for _, name := range []string{
		"..", "promo-/..", "promo-.", "promo-%2e", "promo- ", "promo-?", "promo-#", `promo-\\`, `promo-\u0000`, `promo-\n`, "promo-ü", "promo-;", "promo-:", "promo-@",
		"promo-*", "track", "V1", "healthz", "promo-" + strings.Repeat("1", 59), "promo-<b>", "//evil.example",
	} {
		makes("the name "+name, `{"short_url":"`+name+`","long_url":"https://example.org/"}`, 400, "bad_short_url")
	}
	for _, target := range []string{
		"javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", `java\tscript:alert(1)`, `\u0001javascript:alert(1)`, "javascript://example.org/%0aalert(1)",
		"data:text/html,<script>", "vbscript:x", "file:///etc/passwd", "ftp://example.org/", "blob:https://example.org/x", "intent://x#Intent;end", "mailto:a@example.org", "about:blank",
		"//example.org/", "/path", "example.org", "https:example.org", "https:///x", "http://", `https:\\\\example.org`, `https://example.org\\@evil.example/`, "https://example.org@evil.example/",
		"https://user:pw@example.org/", `https://example.org/\r\nSet-Cookie: x=1`, `https://example.org/\u0000`, "https://example.org/a b", "https://[::1/", "https://%zz/",
		"http://x/promo-1", "https://X:443/promo-1", // the host that raw sends to
	} {
		makes("a link to "+target, `{"short_url":"promo-8","long_url":"`+target+`"}`, 400, "bad_long_url")
	}
	return all
}

// keptLinks are one good link, and bad ones as somebody may have inserted with cqlsh.
func keptLinks() *linkStore {
	store := &linkStore{}
	for short, long := range map[string]string{
		"promo-1": "https://example.org/", "js": "javascript:alert(1)", "data": "data:text/html,x", "ftp": "ftp://example.org/", "nowhere": "",
	} {
		store.all.Store(short, long)
	}
	return store
}

// guardedHostile sends each of the intruders, and checks that they left nothing in Kafka or the store.
func guardedHostile(t *testing.T, b broker) {
	store := keptLinks()
	d := startServerWith(t, b, store, func(cfg *configs.Producer) {
		guarded(cfg)
		cfg.Links.Enabled = true
		cfg.HTTP.TrustedProxies = []string{"127.0.0.1"}
	})
	// Requests that are allowed are accepted.
	r := request{bearer: "Bearer shop-new", origin: "https://shop.example"}.send(t, d, "/v1/visits", `{"siteId":"shop","guid":"g"}`)
	if r.status != 202 {
		t.Errorf("a good event = %d %s", r.status, r.raw)
	}
	names := []string{d.topics.Visits, d.topics.Clicks, d.topics.Dead}
	before := map[string][]int64{}
	for _, name := range names {
		before[name] = ends(t, d.broker, name)
	}
	for _, h := range intruders() {
		status, body := exchange(t, d.addr, h.text)
		if status != h.status || h.reason != "" && !strings.Contains(body, `"error":"`+h.reason+`"`) || strings.Contains(body, `"status":202`) {
			t.Errorf("%s = %d %.200s, want %d %s", h.name, status, body, h.status, h.reason)
		}
	}
	d.close(t) // which writes the clicks of redirects, if there were any
	for _, name := range names {
		if after := ends(t, d.broker, name); !slices.Equal(after, before[name]) {
			t.Errorf("the end of %s moved from %v to %v: a refused event reached Kafka", name, before[name], after)
		}
	}
	store.all.Range(func(short, long any) bool {
		if was, ok := keptLinks().all.Load(short); !ok || was != long {
			t.Errorf("the store has %v → %v", short, long)
		}
		return true
	})
}

// spoofedAddresses: a click's address cannot be forged. The producer believes trusted proxies only; in X-Forwarded-For anybody can write
// what is left of the first entry that is no trusted proxy.
func spoofedAddresses(t *testing.T, b broker) {
	const peer = "127.0.0.1"
	rows := []struct {
		name, want string
		headers    []string
	}{
		{"nothing", peer, nil},
		{"one address", "203.0.113.7", []string{"X-Forwarded-For: 203.0.113.7"}},
		{"an invented one before it", "203.0.113.7", []string{"X-Forwarded-For: 198.51.100.9, 203.0.113.7"}},
		{"a trusted one invented before it", "203.0.113.7", []string{"X-Forwarded-For: 10.0.0.1, 203.0.113.7"}},
		{"a proxy after it", "203.0.113.7", []string{"X-Forwarded-For: 198.51.100.9, 203.0.113.7, 10.0.0.1"}},
		{"proxies only", "10.0.0.1", []string{"X-Forwarded-For: 10.0.0.1, 10.0.0.2"}},
		{"in two lines", "203.0.113.7", []string{"X-Forwarded-For: 198.51.100.9", "X-Forwarded-For: 203.0.113.7"}},
		{"in two lines, the second empty", peer, []string{"X-Forwarded-For: 203.0.113.7", "X-Forwarded-For: "}},
		{"garbage before it", "203.0.113.7", []string{"X-Forwarded-For: <script>, 203.0.113.7"}},
		{"garbage after it", peer, []string{"X-Forwarded-For: 203.0.113.7, unknown"}},
		{"a comma after it", peer, []string{"X-Forwarded-For: 203.0.113.7,"}},
		{"garbage before a proxy", "10.0.0.1", []string{"X-Forwarded-For: 203.0.113.7, unknown, 10.0.0.1"}},
		{"a port", "203.0.113.7", []string{"X-Forwarded-For: 203.0.113.7:443"}},
		{"a port beyond all", peer, []string{"X-Forwarded-For: 203.0.113.7:99999"}},
		{"leading zeros", peer, []string{"X-Forwarded-For: 0203.0.113.7"}},
		{"a number", peer, []string{"X-Forwarded-For: 3405803783"}},
		{"IPv6", "2001:db8::", []string{"X-Forwarded-For: 2001:DB8:0::7"}},
		{"IPv6 in brackets with a port", "2001:db8::", []string{"X-Forwarded-For: [2001:db8::7]:443"}},
		{"IPv6 with a zone", "2001:db8::", []string{"X-Forwarded-For: 2001:db8::7%eth0"}},
		{"IPv4 in IPv6", "203.0.113.7", []string{"X-Forwarded-For: ::ffff:203.0.113.7"}},
		{"a proxy in IPv6", "203.0.113.7", []string{"X-Forwarded-For: 203.0.113.7, ::ffff:10.0.0.1"}},
		{"a thousand", "203.0.113.7", []string{"X-Forwarded-For: " + strings.Repeat("1.2.3.4,", 1000) + "203.0.113.7"}},
		{"another header", peer, []string{"X-Real-IP: 203.0.113.7", "Forwarded: for=203.0.113.7", "True-Client-IP: 203.0.113.7", "CF-Connecting-IP: 203.0.113.7"}},
	}
	trusting := startServer(t, b, func(cfg *configs.Producer) { cfg.HTTP.TrustedProxies = []string{peer, "10.0.0.0/8"} })
	wary := startServer(t, b, func(cfg *configs.Producer) { cfg.HTTP.TrustedProxies = []string{"10.0.0.0/8"} })
	for i, row := range rows {
		for _, d := range []*runningServer{trusting, wary} {
			text := raw("POST", "/v1/clicks", append(row.headers, fmt.Sprint("Idempotency-Key: ", i)), `{"short_url":"a"}`)
			if status, body := exchange(t, d.addr, text); status != 202 {
				t.Errorf("%s = %d %s", row.name, status, body)
			}
		}
	}
	addresses := func(d *runningServer) map[string]string {
		all := map[string]string{}
		for _, m := range messages(t, d.broker, d.topics.Clicks) {
			c, err := models.UnmarshalClick(m.Value, true)
			must(t, err)
			all[c.ID] = c.IP
		}
		return all
	}
	believed, ignored := addresses(trusting), addresses(wary)
	for i, row := range rows {
		if got := believed[fmt.Sprint(i)]; got != row.want {
			t.Errorf("%s: the click is of %q, want %s", row.name, got, row.want)
		}
		if got := ignored[fmt.Sprint(i)]; got != peer {
			t.Errorf("%s, from nobody's proxy: the click is of %q", row.name, got)
		}
	}
}
