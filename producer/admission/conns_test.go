package admission

import (
	"net"
	"net/netip"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/producer/enrich"
)

// peerConn is a connection from somewhere.
type peerConn struct {
	net.Conn
	at net.TCPAddr
}

func (c peerConn) RemoteAddr() net.Addr { return &c.at }

// TestATrustedProxyIsNoNetwork: a trusted proxy is not limited like one network, not even one with a link-local address and a zone.
func TestATrustedProxyIsNoNetwork(t *testing.T) {
	about, err := enrich.New(enrich.Options{TrustedProxies: []string{"10.0.0.0/8", "fe80::/10"}})
	if err != nil {
		t.Fatal(err)
	}
	f := func(ip, zone string, bounded bool) {
		t.Helper()
		c := LimitConns(nil, 10, 1, about.Trusts, prometheus.NewRegistry())
		in, why := c.admit(peerConn{at: net.TCPAddr{IP: net.IP(netip.MustParseAddr(ip).AsSlice()), Zone: zone}})
		if in == nil || len(in.networks) > 0 != bounded {
			t.Errorf("%s%%%s: %v, %s", ip, zone, in, why)
		}
	}
	f("203.0.113.7", "", true)
	f("2001:db8::1", "", true)
	f("10.0.0.1", "", false)
	f("::ffff:10.0.0.1", "", false)
	f("fe80::1", "", false)
	f("fe80::1", "eth0", false)
}
