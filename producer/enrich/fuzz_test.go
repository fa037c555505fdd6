package enrich

import (
	"net/http"
	"net/netip"
	"testing"
)

// FuzzClientIP: whatever a client writes into X-Forwarded-For, it stays who its last untrusted hop says it is.
func FuzzClientIP(f *testing.F) {
	e, err := New(Options{TrustedProxies: []string{"10.0.0.0/8", "2001:db8:ffff::/48"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("10.0.0.1:80", "203.0.113.7", "198.51.100.9")
	f.Add("10.0.0.1:80", "203.0.113.7, 10.0.0.2", "10.0.0.3, unknown")
	f.Add("[2001:db8:ffff::1%eth0]:443", "[2001:db8::7]:443", "::ffff:10.0.0.1")
	f.Add("203.0.113.9:1", "10.0.0.1", ",")
	f.Add("@", "x", "")
	f.Fuzz(func(t *testing.T, remote, list, invented string) {
		ask := func(lines ...string) netip.Addr {
			return e.ClientIP(&http.Request{RemoteAddr: remote, Header: http.Header{"X-Forwarded-For": lines}})
		}
		got := ask(list)
		if got.Is4In6() || got.Zone() != "" {
			t.Errorf("%q from %q is %s, which has another name", list, remote, got)
		}
		direct := ask()
		if !e.Trusts(direct) && got != direct {
			t.Errorf("%q from %q, whom nobody trusts, is %s", list, remote, got)
		}
		if e.Trusts(got) { // nobody but proxies: what comes before is not the client's word alone
			return
		}
		for _, lines := range [][]string{{invented + "," + list}, {invented, list}} {
			if again := ask(lines...); again != got {
				t.Errorf("%q from %q is %s, and with %q before it %s", list, remote, got, invented, again)
			}
		}
	})
}

// FuzzHop: one entry of it names an address in one way only.
func FuzzHop(f *testing.F) {
	for _, seed := range []string{"203.0.113.7", " 203.0.113.7:80 ", "[2001:db8::1]", "[2001:db8::1%eth0]:443", "::ffff:203.0.113.7", "[203.0.113.7]", "unknown", "_hidden", "1.2.3.04", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ip, ok := parseHop(text)
		if !ok {
			if ip.IsValid() {
				t.Errorf("%q is no address, but %s", text, ip)
			}
			return
		}
		if again, ok := parseHop(ip.String()); !ok || again != ip || ip != plain(ip) {
			t.Errorf("%q is %s, which is %s, %v", text, ip, again, ok)
		}
	})
}
