package enrich

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"footfall/models"
)

func TestRefererHost(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		if got := RefererHost(raw); got != want {
			t.Errorf("RefererHost(%q) = %q, want %q", raw, got, want)
		}
	}
	f("https://news.example/a/b?q=secret#x", "news.example")
	f("http://News.Example:8080/", "news.example")
	f("https://user:pw@news.example/", "news.example")
	f("https://news.example.", "news.example")
	f("//news.example/x", "news.example")
	f("news.example", "news.example")
	f("News.example:80/path", "news.example")
	f("android-app://com.google.android.gm/", "com.google.android.gm")
	f("https://xn--bcher-kva.example/", "xn--bcher-kva.example")
	f("bücher.example", "bücher.example")
	f("http://127.0.0.1:8080/", "127.0.0.1")
	f("http://[2001:DB8::1]:8080/", "2001:db8::1")
	f("http://[fe80::1%25eth0]/", "fe80::1")
	f("http://[::ffff:203.0.113.7]/", "203.0.113.7")
	f("  https://news.example/  ", "news.example")
	f("news.example/a//b", "news.example")
	f("news.example?from=https://other.example/", "news.example")
	f("https://news.example?from=https://other.example/", "news.example")
	for _, none := range []string{
		"", " ", "/path", "javascript:alert(1)", "data:text/html,x", "about:client", "mailto:a@b.example", "https://", "https:///x",
		"http://a b/", "http://a\x00b/", "http://a\nb/", "http://\xff/", "http://%zz/", "http://<b>/", "http://a%00b/", "http://[::1/",
		"http://[x]/", "http://a,b/", "https://" + strings.Repeat("a", 254) + "/", `http://"/`, "?", "#", "::",
	} {
		f(none, "")
	}
}

func TestReferrer(t *testing.T) {
	for raw, want := range map[string]string{
		"": "", "news.example": "news.example", "News.Example": "News.Example", "a newsletter": "a newsletter", "bücher.example": "bücher.example",
		"https://News.example/a?b=c": "news.example", "//news.example/a": "news.example", "news.example/account?token=secret": "news.example",
		"news.example?token=secret": "news.example", "news.example#secret": "news.example", "news.example:8080": "news.example",
		"https://user:secret@news.example:80": "news.example", "user:secret@news.example": "", "mailto:me@example.com": "", "me@example.com": "",
		"/account/me": "", "?token=secret": "", "x=y": "x=y", `news.example\secret`: "", "name%40example.com": "", "javascript:x": "",
	} {
		if got := Referrer(raw); got != want {
			t.Errorf("Referrer(%q) = %q, want %q", raw, got, want)
		}
	}
}

func FuzzRefererHost(f *testing.F) {
	for _, seed := range []string{"https://news.example/a", "http://[::1]:80/", "a@b", "\xff", "//"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		host := RefererHost(raw)
		c := models.Click{V: 1, ID: "i", ShortURL: "s", IP: "1.1.1.1", TS: 1436968800000, Referrer: host}
		if err := c.Validate(); err != nil || strings.ContainsAny(host, "/?#@ ") {
			t.Errorf("%q gives %q: %v", raw, host, err)
		}
	})
}

var noon = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

func TestVisitorIP(t *testing.T) {
	raw := open(t, Options{HashKey: "not used since hashing is off"})
	hashed := open(t, Options{HashIP: true, HashKey: "0123456789abcdef"})
	other := open(t, Options{HashIP: true, HashKey: "another 16 bytes"})
	f := func(text, wantRaw, wantHash string) {
		t.Helper()
		ip := netip.MustParseAddr(text)
		if got := raw.VisitorIP(ip, noon); got != wantRaw {
			t.Errorf("raw %s: %s", text, got)
		}
		got := hashed.VisitorIP(ip, noon)
		if got != wantHash || len(got) > models.MaxIP {
			t.Errorf("hashed %s: %s", text, got)
		}
		if other.VisitorIP(ip, noon) == got {
			t.Errorf("%s: the key makes no difference", text)
		}
	}
	// printf %s 203.0.113.7 | openssl dgst -sha256 -hmac 0123456789abcdef
	const four, six = "e25e7aa15f18e79a3fd02a8fa35b11c2ad014cb9998c114e682d6e9c821ad6b7", "875707cfe2bc92e6238d8cba4075a078076614c2f45f112bc383bcb88e624d37"
	f("203.0.113.7", "203.0.113.7", four)
	f("::ffff:203.0.113.7", "203.0.113.7", four)
	f("2001:DB8:0::1", "2001:db8::1", six)
	f("2001:db8::1%eth0", "2001:db8::1", six)
	if raw.VisitorIP(netip.Addr{}, noon) != "" || hashed.VisitorIP(netip.Addr{}, noon) != "" {
		t.Error("no address has a name")
	}
}

func TestTruncatedVisitors(t *testing.T) {
	e := open(t, Options{TruncateIP: true})
	for text, want := range map[string]string{
		"203.0.113.7": "203.0.113.0", "203.0.113.255": "203.0.113.0", "::ffff:203.0.113.7": "203.0.113.0", "203.0.114.7": "203.0.114.0",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1::", "2001:db8:1:ffff::": "2001:db8:1::", "2001:db8::1%eth0": "2001:db8::", "::1": "::",
	} {
		if got := e.VisitorIP(netip.MustParseAddr(text), noon); got != want {
			t.Errorf("%s is kept as %s, want %s", text, got, want)
		}
	}
	if e.VisitorIP(netip.Addr{}, noon) != "" {
		t.Error("no address has a network")
	}
}

// TestVisitorsOfIPv6: whoever has one address has 2^64 of them, and is one visitor.
func TestVisitorsOfIPv6(t *testing.T) {
	f := func(o Options, text, want string) {
		t.Helper()
		if got := open(t, o).VisitorIP(netip.MustParseAddr(text), noon); got != want {
			t.Errorf("%s is kept as %s, want %s", text, got, want)
		}
	}
	by := Options{IPv6Prefix: 64}
	f(by, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::")
	f(by, "2001:db8:1:2:ffff::", "2001:db8:1:2::")
	f(by, "2001:db8:1:3::6", "2001:db8:1:3::")
	f(by, "203.0.113.7", "203.0.113.7")
	f(by, "::ffff:203.0.113.7", "203.0.113.7")
	f(by, "fe80::1%eth0", "fe80::1") // a network that is not routed: all of it is fe80::/64
	f(by, "::1", "::1")
	f(Options{IPv6Prefix: 56}, "2001:db8:1:2ff::1", "2001:db8:1:200::")
	f(Options{IPv6Prefix: 128}, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6")
	f(Options{IPv6Prefix: 64, TruncateIP: true}, "2001:db8:1:2:3:4:5:6", "2001:db8:1::")
	f(Options{IPv6Prefix: 32, TruncateIP: true}, "2001:db8:1:2:3:4:5:6", "2001:db8::")
	hash := Options{IPv6Prefix: 64, HashIP: true, HashKey: "0123456789abcdef"}
	f(hash, "2001:db8:1:2::7", open(t, hash).VisitorIP(netip.MustParseAddr("2001:db8:1:2::8"), noon))
	if _, err := New(Options{IPv6Prefix: 129}); err == nil {
		t.Error("a network of 129 bits")
	}
}

// TestRotatedKeys: a visitor has one name in a period, by UTC, and another in the next.
func TestRotatedKeys(t *testing.T) {
	const key = "0123456789abcdef"
	ip, rome := netip.MustParseAddr("203.0.113.7"), time.FixedZone("CET", 3600)
	name := func(rotate string, at time.Time) string {
		return open(t, Options{HashIP: true, HashKey: key, Rotate: rotate}).VisitorIP(ip, at)
	}
	// printf %s 2026-11 | openssl dgst -sha256 -hmac 0123456789abcdef, and that as -macopt hexkey of the address: 48 digits
	if got := name(models.Monthly, noon); got != "2026-11:43ec218e15daf6fe7a4c4dbce18152221c04f187a6b30299" {
		t.Errorf("in November: %s", got)
	}
	if got := name(models.Daily, noon); got != "2026-11-16:94125adf949798935bc98a6c71ec62368fdc837e03c1468c" {
		t.Errorf("on the 16th: %s", got)
	}
	lastOfMonth := time.Date(2026, 12, 1, 0, 59, 0, 0, rome) // still November in UTC
	if name(models.Monthly, noon) != name(models.Monthly, lastOfMonth) || name(models.Monthly, noon) == name(models.Monthly, lastOfMonth.Add(time.Minute)) {
		t.Error("a month is not a month of UTC")
	}
	lastOfDay := time.Date(2026, 11, 17, 0, 59, 0, 0, rome)
	if name(models.Daily, noon) != name(models.Daily, lastOfDay) || name(models.Daily, noon) == name(models.Daily, lastOfDay.Add(time.Minute)) {
		t.Error("a day is not a day of UTC")
	}
	if name("", noon) != name("", lastOfMonth.AddDate(1, 0, 0)) {
		t.Error("a key that stays does not")
	}
}
