package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"footfall/reader/access"
	"footfall/reader/params"
)

// TestNothingIsReadThatTheKeyIsNotFor: whoever may not read is refused before the store is asked.
func TestNothingIsReadThatTheKeyIsNotFor(t *testing.T) {
	f := newFake()
	s := newServer(t, f, guardedAccess, nil)
	share := func(what access.Share) string {
		text, err := s.cfg.Access.Sign(what, now)
		if err != nil {
			t.Fatal(err)
		}
		return "share=" + url.QueryEscape(text)
	}
	shop := share(access.Share{Site: "shop1", Until: now.Add(time.Minute)})
	promo := share(access.Share{Link: "promo", Until: now.Add(time.Minute)})
	old := share(access.Share{Link: "promo", Until: now})
	ask := func(path, key string, status int, reason string) {
		t.Helper()
		f.asked = nil
		w := get(s, path, "Authorization: "+key)
		got := ""
		if w.Code != 200 {
			got = reasonOf(t, w.Body)
		}
		if w.Code != status || got != reason || (f.asked != nil) != (status == 200) {
			t.Errorf("%s with %s: %d %s, asked %v; want %d %s", path, key, w.Code, got, f.asked, status, reason)
		}
		if (w.Header().Get("WWW-Authenticate") != "") != (status == 401) {
			t.Errorf("%s: %v", path, w.Header())
		}
	}
	for _, path := range []string{"/v1/stats/sites/shop1", "/v1/stats/sites/shop1/series?from=2018-10&to=2018-11", "/v1/stats/sites/shop1/top/feature1", "/v1/stats/sites/shop1/values/feature1", "/v1/stats/sites/shop1/export"} {
		with := path + map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]
		ask(path, "Bearer shops", 200, "")
		ask(path, "bearer  shops ", 200, "")
		ask(path, "Bearer links", 403, access.WrongKey)
		ask(path, "Bearer nobody", 403, access.WrongKey)
		ask(path, "Basic c2hvcHM6", 401, access.MissingKey)
		ask(path, "", 401, access.MissingKey)
		ask(with+shop, "", 200, "")
		ask(with+promo, "", 403, access.WrongKey)
		ask(with+shop, "Bearer nobody", 403, access.WrongKey)
		ask(with+shop+"x", "", 403, access.BadShare)
		ask(with+"share=", "", 401, access.MissingKey)
	}
	for _, rest := range []string{"", "/series", "/countries", "/referrers", "/amounts", "/latest", "/export"} {
		path := "/v1/stats/links/promo" + rest
		ask(path, "Bearer shops", 200, "")
		ask(path, "Bearer links", 200, "")
		ask(path+"?"+promo, "", 200, "")
		ask(path+"?"+shop, "", 403, access.WrongKey)
		ask(path+"?"+old, "", 403, access.ShareExpired)
		ask(path+"?"+promo+"&"+shop, "", 400, params.RepeatedParameter)
		ask(path, "", 401, access.MissingKey)
		ask("/v1/stats/links/promo2"+rest, "Bearer shops", 403, access.WrongKey)
		ask("/v1/stats/links/promo%2F.."+rest, "Bearer shops", 403, access.WrongKey)
		ask("/v1/stats/links/promo2"+rest+"?"+promo, "", 403, access.WrongKey)
	}
	for _, list := range []string{"/v1/stats/sites", "/v1/stats/links"} {
		ask(list, "", 401, access.MissingKey)
		ask(list+"?"+shop, "", 403, access.WrongKey)
		ask(list+"?"+promo, "", 403, access.WrongKey)
		ask(list, "Bearer shops", 200, "")
	}
	ask("/v1/stats/sites", "Bearer links", 403, access.WrongKey)
	// who may not read is not told what is wrong with the question
	ask("/v1/stats/links/promo2?nonsense=1", "Bearer shops", 403, access.WrongKey)
	ask("/v1/stats/links/promo?nonsense=1", "", 401, access.MissingKey)
}

// TestListsHaveWhatTheKeyMayRead and nothing else, in every format.
func TestListsHaveWhatTheKeyMayRead(t *testing.T) {
	f := newFake()
	f.names = []string{"other", "promo", "promo2", "shop1", "shop2", "xshop"}
	s := newServer(t, f, guardedAccess, nil)
	ask := func(path, key, want string) {
		t.Helper()
		if w := get(s, path+"?format=csv", "Authorization: Bearer "+key); w.Body.String() != want {
			t.Errorf("%s with %s: %q, want %q", path, key, w.Body, want)
		}
	}
	ask("/v1/stats/sites", "shops", "siteId\nshop1\nshop2\n")
	ask("/v1/stats/links", "shops", "short_url\npromo\n")
	ask("/v1/stats/links", "links", "short_url\nother\npromo\npromo2\nshop1\nshop2\nxshop\n")
}

// TestSharedClicksHaveNoAddress: a share link is passed on.
func TestSharedClicksHaveNoAddress(t *testing.T) {
	s := newServer(t, newFake(), guardedAccess, nil)
	text, err := s.cfg.Access.Sign(access.Share{Link: "promo", Until: now.Add(time.Minute)}, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"json", "csv", "ndjson"} {
		if w := get(s, "/v1/stats/links/promo/latest?format="+format+"&share="+text); w.Code != 200 || strings.Contains(w.Body.String(), "203.0.113.7") || strings.Contains(w.Body.String(), "ip") {
			t.Errorf("%s: %d %s", format, w.Code, w.Body)
		}
	}
}

func TestCORS(t *testing.T) {
	f := func(origins []string, method, origin string, status int, want string) {
		t.Helper()
		s := newServer(t, newFake(), open, func(c *Config) { c.Origins = origins })
		w := send(s, method, "/v1/stats/links/abc", "Origin: "+origin)
		if w.Code != status || w.Header().Get("Access-Control-Allow-Origin") != want || w.Header().Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%v, %s from %q: %d %v; want %d %q", origins, method, origin, w.Code, w.Header(), status, want)
		}
		if !strings.Contains(w.Header().Get("Vary"), "Origin") {
			t.Errorf("caches would mix origins: %v", w.Header())
		}
	}
	page := "https://stats.example"
	f(nil, http.MethodGet, page, 200, "")
	f(nil, http.MethodOptions, page, 403, "")
	f(nil, http.MethodOptions, "", 204, "")
	f([]string{page}, http.MethodGet, page, 200, page)
	f([]string{page}, http.MethodOptions, page, 204, page)
	f([]string{page}, http.MethodGet, page+".evil.example", 200, "")
	f([]string{page}, http.MethodOptions, "null", 403, "")
	f([]string{"*"}, http.MethodGet, "https://any.example", 200, "*")
	for _, wrong := range []string{"stats.example", "https://stats.example/", "https://Stats.example", "ftp://x", "https://*.example/x", ""} {
		if err := checkOrigins([]string{wrong}); err == nil {
			t.Errorf("origin %q was taken", wrong)
		}
	}
	if err := checkOrigins([]string{"*", page, "http://localhost:3000"}); err != nil {
		t.Error(err)
	}
}
