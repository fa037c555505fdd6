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

func TestMaxMindFileComesBeforeTheBinarys(t *testing.T) {
	e := open(t, Options{MaxMindFile: writeDatabase(t, "Test-Country", "8.8.0.0/16", "IT")})
	for text, want := range map[string]string{"8.8.8.8": "IT", "::ffff:8.8.8.8": "IT", "8.9.0.1": "US", "2001:4860:4860::8888": "US"} {
		if got := e.Country(netip.MustParseAddr(text), nil); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := e.Country(netip.Addr{}, nil); got != "ZZ" {
		t.Errorf("no address: %s", got)
	}
}
