package links

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"footfall/internal/fair"
	"footfall/producer/answer"
)

func TestCreate(t *testing.T) {
	f := newFixture(t, nil)
	check := func(body string, status int, want string) {
		t.Helper()
		if w := f.post(body, "Content-Type", "application/json"); w.Code != status || w.Body.String() != want+"\n" {
			t.Errorf("%s: %d %swant %d %s", body, w.Code, w.Body, status, want)
		}
	}
	abc := `{"short_url":"abc","long_url":"https://a.example/","link":"http://sho.rt/abc"}`
	check(`{"short_url":"abc","long_url":"https://a.example/"}`, http.StatusCreated, abc)
	check(`{"short_url":"abc","long_url":"https://a.example/"}`, http.StatusOK, abc)
	check(`{"short_url":"abc","long_url":"https://b.example/"}`, http.StatusConflict,
		`{"error":"short_url_taken","detail":"it leads elsewhere","long_url":"https://a.example/"}`)
	if f.store.links["abc"] != "https://a.example/" {
		t.Errorf("stored %q", f.store.links["abc"])
	}
	f.store.set(func() { f.store.broken = true })
	w := f.post(`{"short_url":"abc","long_url":"https://a.example/"}`)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "broken") {
		t.Errorf("a broken store: %d %s", w.Code, w.Body)
	}
}

func TestCreateMakesUpNames(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.BaseURL = "https://sho.rt/" })
	seen := map[string]bool{}
	for range 200 {
		w := f.post(`{"long_url":"https://a.example/"}`)
		var link made
		if err := json.Unmarshal(w.Body.Bytes(), &link); err != nil || w.Code != http.StatusCreated {
			t.Fatalf("%d %s %v", w.Code, w.Body, err)
		}
		if len(link.ShortURL) < codeLength || !Name(link.ShortURL) || seen[link.ShortURL] || link.Link != "https://sho.rt/"+link.ShortURL ||
			w.Header().Get("Location") != link.Link {
			t.Errorf("%+v", link)
		}
		seen[link.ShortURL] = true
	}
}

// TestATakenNameIsNotReplaced: if every name is taken, a few longer ones are tried, and then no more.
func TestATakenNameIsNotReplaced(t *testing.T) {
	taken := &takenStore{memory: newMemory()}
	f := newFixture(t, func(o *Options) { o.Store = taken })
	if w := f.post(`{"long_url":"https://a.example/"}`); w.Code != http.StatusConflict || len(taken.tried) != attempts {
		t.Errorf("%d %s, tried %q", w.Code, w.Body, taken.tried)
	}
	for i, name := range taken.tried {
		if len(name) != codeLength+i {
			t.Errorf("attempt %d: %s", i, name)
		}
	}
}

// TestTargetsDoNotLeadBack: a link to a link of the same producer would be followed for ever.
func TestTargetsDoNotLeadBack(t *testing.T) {
	f := func(base, long string, want int) {
		t.Helper()
		f := newFixture(t, func(o *Options) { o.BaseURL = base })
		if w := f.post(`{"long_url":"` + long + `"}`); w.Code != want || want == http.StatusBadRequest && !strings.Contains(w.Body.String(), "bad_long_url") {
			t.Errorf("%s at %q: %d %s", long, base, w.Code, w.Body)
		}
	}
	const refused, made = http.StatusBadRequest, http.StatusCreated
	for _, long := range []string{"http://sho.rt/abc", "https://sho.rt/abc", "http://SHO.rt", "https://sho.rt.:443/x?y", "http://sho.rt:80/"} {
		f("", long, refused) // where the request was sent to
	}
	for _, long := range []string{"http://sho.rt:8080/abc", "http://www.sho.rt/", "http://sho.rt.example/", "https://a.example/?u=http://sho.rt/abc"} {
		f("", long, made)
	}
	f("https://other.example:8443", "https://other.example:8443/abc", refused)
	f("https://other.example:8443", "https://other.example/abc", made)
	f("https://other.example", "http://sho.rt/abc", made)
	f("https://shop.example/s", "https://shop.example/s/abc", refused)
	f("https://shop.example/s/", "https://shop.example/s/../s/abc", refused)
	f("https://shop.example/s", "https://shop.example/shoes", made)
}

// TestNamesBeginAsTheyMust: a made-up name begins with the prefix that the key demands.
func TestNamesBeginAsTheyMust(t *testing.T) {
	taken := &takenStore{memory: newMemory()}
	f := newFixture(t, func(o *Options) {
		o.Store = taken
		o.Begin = func(*http.Request) (string, error) { return "promo-", nil }
	})
	if w := f.post(`{"long_url":"https://a.example/"}`); w.Code != http.StatusConflict || len(taken.tried) != attempts {
		t.Errorf("%d %s, tried %q", w.Code, w.Body, taken.tried)
	}
	for i, name := range taken.tried {
		if !strings.HasPrefix(name, "promo-") || len(name) != len("promo-")+codeLength+i {
			t.Errorf("attempt %d: %s", i, name)
		}
	}
	for text, want := range map[string]bool{"": true, "promo-": true, "a.": false, "ü": false, strings.Repeat("a", 53): true, strings.Repeat("a", 54): false} {
		if Beginning(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// TestCreatingIsBounded: above the bound of concurrent requests to the store, creating a link is answered 503. One client leaves places for
// others.
func TestCreatingIsBounded(t *testing.T) {
	f := newFixture(t, nil)
	me := fair.Customer(netip.MustParseAddr("192.0.2.1")) // as httptest has it
	n := 0
	for f.creating.Take(me, 1) {
		n++
	}
	if n != mostCreating-mostCreating/3 {
		t.Errorf("one client has %d of %d places", n, mostCreating)
	}
	w := f.post(`{"long_url":"https://a.example/"}`)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "overloaded") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !f.creating.Take(fair.Customer(netip.MustParseAddr("192.0.2.2")), 1) {
		t.Error("another client is kept out")
	}
	f.creating.Release(me, 2)
	for range 2 { // the first gives its place back
		if w := f.post(`{"long_url":"https://a.example/"}`); w.Code != http.StatusCreated {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	f := newFixture(t, nil)
	check := func(status int, reason, body string, header ...string) {
		t.Helper()
		w := f.post(body, header...)
		var got struct{ Error string }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != status || got.Error != reason {
			t.Errorf("%.100q %q: %d %s; want %d %s", body, header, w.Code, w.Body, status, reason)
		}
	}
	for _, name := range []string{
		"a/b", "a.b", "..", ".", "%2e%2e", "a b", "a?b", "a#b", "ü", "a\\u0000", "a\\n", "track", "Track", "v1", "healthz", "readyz",
		"metrics", "a\\\\b", "a;b", "a:b", "a@b", "//evil.example", strings.Repeat("a", 65), "a|b", "<b>", "' OR 1=1",
	} {
		check(http.StatusBadRequest, "bad_short_url", `{"short_url":"`+name+`","long_url":"https://a.example/"}`)
	}
	for _, long := range []string{
		"javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "java\\tscript:alert(1)", "data:text/html,x", "file:///etc/passwd",
		"vbscript:x", "ftp://a.example/", "//a.example/", "/path", "a.example", "http:", "http://", "https:///x", "https:a.example", "http:\\\\\\\\a.example",
		"https://user:pw@a.example/", "https://a.example@evil.example/", "https://a b.example/", "https://a.example/\\n\\rSet-Cookie: x", "https://a.example/\\u0000",
		"https://:80/", "https://[::1/", "https://%zz/", "http://a.example/\\ud800", "https://a.example/ x", "blob:https://a.example/x", "intent://x#Intent;end",
		"https://a.example/\\u2028", "https://a.example\\\\@evil.example/",
	} {
		check(http.StatusBadRequest, "bad_long_url", `{"short_url":"x","long_url":"`+long+`"}`)
	}
	check(http.StatusBadRequest, "missing_long_url", `{"short_url":"x"}`)
	check(http.StatusBadRequest, "missing_long_url", `null`)
	check(http.StatusBadRequest, "long_url_too_long", `{"long_url":"https://a.example/`+strings.Repeat("a", MaxTarget)+`"}`)
	check(http.StatusBadRequest, "unknown_field", `{"long_url":"https://a.example/","x":1}`)
	check(http.StatusBadRequest, "unknown_field", `{"Long_URL":"https://a.example/"}`)
	check(http.StatusBadRequest, "repeated_field", `{"long_url":"https://a.example/","long_url":"https://b.example/"}`)
	check(http.StatusBadRequest, "bad_json", `{"long_url":1}`)
	check(http.StatusBadRequest, "bad_json", `[]`)
	check(http.StatusBadRequest, "bad_json", ``)
	check(http.StatusBadRequest, "bad_json", `{"long_url":"https://a.example/"} {}`)
	check(http.StatusBadRequest, "bad_utf8", "{\"long_url\":\"https://a.example/\xff\"}")
	check(http.StatusRequestEntityTooLarge, "body_too_large", strings.Repeat(" ", maxBody+1))
	check(http.StatusUnsupportedMediaType, "unsupported_media_type", `{}`, "Content-Type", "text/plain")
	check(http.StatusUnsupportedMediaType, "unsupported_media_type", `{}`, "Content-Type", "application/json; charset=latin1")
	check(http.StatusUnsupportedMediaType, "unsupported_media_type", `{}`, "Content-Encoding", "gzip")
	if len(f.store.links) != 0 {
		t.Errorf("stored %v", f.store.links)
	}
}

func TestAllowDecidesBeforeAnythingIsStored(t *testing.T) {
	f := newFixture(t, func(o *Options) {
		o.Allow = func(_ *http.Request, short string) error {
			if short == "mine" {
				return nil
			}
			return &answer.Refusal{Reason: answer.WrongKey}
		}
	})
	if w := f.post(`{"short_url":"theirs","long_url":"https://a.example/"}`); w.Code != http.StatusForbidden || len(f.store.links) != 0 {
		t.Errorf("%d, stored %v", w.Code, f.store.links)
	}
	if w := f.post(`{"short_url":"mine","long_url":"https://a.example/"}`); w.Code != http.StatusCreated {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestRandomNamesUseAllLettersAlike(t *testing.T) {
	count := map[rune]int{}
	const n = 4000
	for range n {
		for _, r := range randomName(codeLength) {
			count[r]++
		}
	}
	for _, r := range base62 {
		if mean := n * codeLength / len(base62); count[r] < mean/2 || count[r] > mean*2 {
			t.Errorf("%c: %d times, mean %d", r, count[r], mean)
		}
	}
	if len(count) != len(base62) {
		t.Errorf("%d letters", len(count))
	}
}
