package enrich

import (
	"net/netip"
	"strings"
	"testing"

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
	for _, none := range []string{
		"", " ", "/path", "javascript:alert(1)", "data:text/html,x", "about:client", "mailto:a@b.example", "https://", "https:///x",
		"http://a b/", "http://a\x00b/", "http://a\nb/", "http://\xff/", "http://%zz/", "http://<b>/", "http://a%00b/", "http://[::1/",
		"http://[x]/", "http://a,b/", "https://" + strings.Repeat("a", 254) + "/", `http://"/`, "?", "#", "::",
	} {
		f(none, "")
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

func TestVisitorIP(t *testing.T) {
	raw := open(t, Options{HashKey: "not used since hashing is off"})
	hashed := open(t, Options{HashIP: true, HashKey: "0123456789abcdef"})
	other := open(t, Options{HashIP: true, HashKey: "another 16 bytes"})
	f := func(text, wantRaw, wantHash string) {
		t.Helper()
		ip := netip.MustParseAddr(text)
		if got := raw.VisitorIP(ip); got != wantRaw {
			t.Errorf("raw %s: %s", text, got)
		}
		got := hashed.VisitorIP(ip)
		if got != wantHash || len(got) > models.MaxIP {
			t.Errorf("hashed %s: %s", text, got)
		}
		if other.VisitorIP(ip) == got {
			t.Errorf("%s: the key makes no difference", text)
		}
	}
	// printf %s 203.0.113.7 | openssl dgst -sha256 -hmac 0123456789abcdef
	const four, six = "e25e7aa15f18e79a3fd02a8fa35b11c2ad014cb9998c114e682d6e9c821ad6b7", "875707cfe2bc92e6238d8cba4075a078076614c2f45f112bc383bcb88e624d37"
	f("203.0.113.7", "203.0.113.7", four)
	f("::ffff:203.0.113.7", "203.0.113.7", four)
	f("2001:DB8:0::1", "2001:db8::1", six)
	f("2001:db8::1%eth0", "2001:db8::1", six)
	if raw.VisitorIP(netip.Addr{}) != "" || hashed.VisitorIP(netip.Addr{}) != "" {
		t.Error("no address has a name")
	}
}
