package enrich

import (
	"net/http"
	"net/netip"
	"testing"
)

func peerOf(t *testing.T, address string) netip.Addr {
	t.Helper()
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return a.Addr()
}

func TestCountryOfAnAddress(t *testing.T) {
	e := open(t, Options{})
	for text, want := range map[string]string{
		"8.8.8.8": "US", "2001:4860:4860::8888": "US", "::ffff:8.8.8.8": "US", "193.206.0.1": "IT",
		"203.0.113.7": "ZZ", "10.0.0.1": "ZZ", "127.0.0.1": "ZZ", "::1": "ZZ", "fe80::1%eth0": "ZZ", "::": "ZZ", "255.255.255.255": "ZZ",
	} {
		if got := e.Country(netip.MustParseAddr(text), nil); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := e.Country(netip.Addr{}, nil); got != "ZZ" {
		t.Errorf("no address: %s", got)
	}
}

func TestCountryHeaderOfATrustedPeerOnly(t *testing.T) {
	f := func(header, peer, value, want string) {
		t.Helper()
		e := open(t, Options{TrustedProxies: []string{"10.0.0.0/8"}, CountryHeader: header})
		r := &http.Request{RemoteAddr: peer, Header: http.Header{"Cf-Ipcountry": {value}}}
		if got := e.Country(netip.MustParseAddr("8.8.8.8"), r); got != want {
			t.Errorf("header %q, peer %s says %q: %s, want %s", header, peer, value, got, want)
		}
	}
	f("CF-IPCountry", "10.0.0.1:1", "IT", "IT")
	f("cf-ipcountry", "[::ffff:10.0.0.1]:1", "FR", "FR")
	f("CF-IPCountry", "203.0.113.7:1", "IT", "US") // anybody can send it
	f("CF-IPCountry", "@", "IT", "US")
	f("", "10.0.0.1:1", "IT", "US") // not configured
	f("X-Country", "10.0.0.1:1", "IT", "US")
	for _, unknown := range []string{"XX", "ZZ", "T1", "", "it", "ITA", "I", "I\x00", "é", "<b>"} {
		f("CF-IPCountry", "10.0.0.1:1", unknown, "US")
	}
}

func TestMaxMindFileKnowsTheRest(t *testing.T) {
	for network, cases := range map[string]map[string]string{
		"10.8.0.0/16":   {"10.8.8.8": "IT", "::ffff:10.8.8.8": "IT", "10.9.0.1": "ZZ", "8.8.8.8": "US", "2001:db8::1": "ZZ"},
		"2001:db8::/32": {"2001:db8::1": "IT", "2001:db9::1": "ZZ", "10.8.8.8": "ZZ"},
		"8.8.0.0/16":    {"8.8.8.8": "US"}, // the binary's own is asked first
	} {
		e := open(t, Options{MaxMindFile: writeDatabase(t, "Test-Country", network, "IT")})
		for text, want := range cases {
			if got := e.Country(netip.MustParseAddr(text), nil); got != want {
				t.Errorf("%s with a file about %s: %s, want %s", text, network, got, want)
			}
		}
		if got := e.Country(netip.Addr{}, nil); got != "ZZ" {
			t.Errorf("no address: %s", got)
		}
	}
}
