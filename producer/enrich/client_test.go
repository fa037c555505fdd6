package enrich

import (
	"net/http"
	"strings"
	"testing"
)

func open(t *testing.T, o Options) *Enricher {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// request has a peer and any number of lines of X-Forwarded-For.
func request(peer string, forwarded ...string) *http.Request {
	return &http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": forwarded}}
}

func TestClientIP(t *testing.T) {
	e := open(t, Options{TrustedProxies: []string{"10.0.0.0/8", " 192.0.2.1", "fd00::/8", "::ffff:172.16.0.0/108", "2001:db8:ffff::1", ""}})
	f := func(want, peer string, forwarded ...string) {
		t.Helper()
		if got := e.ClientIP(request(peer, forwarded...)); got.String() != want {
			t.Errorf("peer %s, X-Forwarded-For %q: %s, want %s", peer, forwarded, got, want)
		}
	}
	// Without a proxy, or with one that is not trusted, the header is nothing.
	f("203.0.113.7", "203.0.113.7:1234")
	f("203.0.113.7", "203.0.113.7:1234", "198.51.100.1")
	f("203.0.113.7", "203.0.113.7:1234", "10.0.0.1", "198.51.100.1")
	f("192.0.2.2", "192.0.2.2:1", "198.51.100.1")
	f("11.0.0.1", "11.0.0.1:1", "198.51.100.1")
	// A trusted proxy says who its peer was.
	f("10.1.2.3", "10.1.2.3:1234")
	f("198.51.100.1", "10.1.2.3:1234", "198.51.100.1")
	f("198.51.100.1", "192.0.2.1:1234", "198.51.100.1")
	f("198.51.100.1", "172.16.5.5:1234", "198.51.100.1")
	f("2001:db8::7", "[fd00::1]:1234", "2001:db8::7")
	f("2001:db8::7", "[2001:db8:ffff::1]:443", "2001:DB8:0:0::7")
	f("2001:db8:ffff::2", "[2001:db8:ffff::2]:443", "198.51.100.1")
	// The client wrote what is further left.
	f("198.51.100.1", "10.1.2.3:1", "1.1.1.1, 198.51.100.1")
	f("198.51.100.1", "10.1.2.3:1", "127.0.0.1,10.0.0.1,198.51.100.1 , 10.9.9.9")
	f("198.51.100.1", "10.1.2.3:1", "1.1.1.1", "2.2.2.2, 198.51.100.1", "10.9.9.9")
	f("198.51.100.1", "10.1.2.3:1", strings.Repeat("10.0.0.1,", 1000)+"198.51.100.1")
	// Proxies all the way: the first of them is the client.
	f("10.0.0.7", "10.1.2.3:1", "10.0.0.7, 10.0.0.8")
	// What is no address ends the walk at the last that was one.
	f("10.1.2.3", "10.1.2.3:1", "")
	f("10.1.2.3", "10.1.2.3:1", "unknown")
	f("10.1.2.3", "10.1.2.3:1", "198.51.100.1,")
	f("10.1.2.3", "10.1.2.3:1", "198.51.100.1, ,")
	f("10.9.9.9", "10.1.2.3:1", "198.51.100.1, _hidden, 10.9.9.9")
	f("10.1.2.3", "10.1.2.3:1", "198.51.100.256")
	f("10.1.2.3", "10.1.2.3:1", "198.51.100.1\x00")
	f("10.1.2.3", "10.1.2.3:1", "[198.51.100.1]")
	f("10.1.2.3", "10.1.2.3:1", "\xff\xfe")
	// Notations.
	f("198.51.100.1", "10.1.2.3:1", "198.51.100.1:5678")
	f("198.51.100.1", "10.1.2.3:1", "::ffff:198.51.100.1")
	f("2001:db8::7", "10.1.2.3:1", "[2001:db8::7]")
	f("2001:db8::7", "10.1.2.3:1", "[2001:db8::7]:443")
	f("fe80::1", "10.1.2.3:1", "fe80::1%eth0")
	f("198.51.100.1", "[::ffff:10.1.2.3]:1", "198.51.100.1")
	f("198.51.100.1", "[fd00::1%eth0]:1", "198.51.100.1")
	f("fe80::2", "[fe80::2%eth0]:1")
	f("203.0.113.7", "[::ffff:203.0.113.7]:1")
	// No peer to speak of: trusted by nobody.
	f("invalid IP", "", "198.51.100.1")
	f("invalid IP", "@", "198.51.100.1")
	f("invalid IP", "10.1.2.3", "198.51.100.1")
}

func TestNobodyIsTrustedByDefault(t *testing.T) {
	e := open(t, Options{})
	for _, peer := range []string{"127.0.0.1:1", "[::1]:1", "10.0.0.1:1"} {
		if got := e.ClientIP(request(peer, "198.51.100.1")); got != peerOf(t, peer) || e.PeerTrusted(request(peer)) {
			t.Errorf("peer %s: %s", peer, got)
		}
	}
}

func TestMistakesInTheOptions(t *testing.T) {
	f := func(o Options, want string) {
		t.Helper()
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	f(Options{TrustedProxies: []string{"10.0.0.0/33"}}, "10.0.0.0/33")
	f(Options{TrustedProxies: []string{"proxy.example"}}, "proxy.example")
	f(Options{TrustedProxies: []string{"::ffff:10.0.0.0/8"}}, "96 bits")
	f(Options{HashIP: true}, "openssl rand")
	f(Options{HashIP: true, HashKey: "short"}, "16 bytes")
	f(Options{MaxMindFile: t.TempDir() + "/none.mmdb"}, "none.mmdb")
	f(Options{MaxMindFile: writeDatabase(t, "Test-ASN", "2001:db8::/32", "IT")}, "want a country")
}
