package listen

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"
)

// peerConn is a connection from somewhere.
type peerConn struct {
	net.Conn
	at net.TCPAddr
}

func (c peerConn) RemoteAddr() net.Addr { return &c.at }

// TestATrustedProxyIsNoNetwork: a trusted proxy is not limited like one network, not even one with a link-local address and a zone.
func TestATrustedProxyIsNoNetwork(t *testing.T) {
	trusted := func(ip netip.Addr) bool {
		return netip.MustParsePrefix("10.0.0.0/8").Contains(ip) || netip.MustParsePrefix("fe80::/10").Contains(ip)
	}
	f := func(ip, zone string, bounded bool) {
		t.Helper()
		c := bound(nil, Bounds{Most: 10, PerNetwork: 1, Trusted: trusted}, slog.New(slog.DiscardHandler))
		in, why := c.admit(peerConn{at: net.TCPAddr{IP: net.IP(netip.MustParseAddr(ip).AsSlice()), Zone: zone}})
		if in == nil || len(in.sets) > 1 != bounded {
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

// TestRoomForTheRest: connections leave file descriptors for everything else, or the process does not start.
func TestRoomForTheRest(t *testing.T) {
	f := func(files uint64, want int) {
		t.Helper()
		if got, err := (Bounds{Most: 4096}).fit(files); got != want || (err == nil) != (want > 0) {
			t.Errorf("%d files: %d connections, %v; want %d", files, got, err, want)
		}
	}
	f(256, 0)
	f(511, 0)
	f(512, 96)
	f(1024, 352)
	f(1<<20, 4096)
}

// failing is a listener without a free file descriptor, for a while.
type failing struct {
	net.Listener
	times int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.times--; f.times >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	if f.times == -1 {
		return peerConn{}, nil
	}
	return nil, net.ErrClosed
}

func TestAcceptingIsTriedAgain(t *testing.T) {
	l := bound(&failing{times: 3}, Bounds{Most: 1}, slog.New(slog.DiscardHandler))
	if conn, err := l.Accept(); conn == nil || err != nil {
		t.Errorf("after failures: %v, %v", conn, err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("of a closed listener: %v", err)
	}
}

// TestAllOfOneClientAreIdle: the sweep that makes room for a new connection may close all others of its client.
func TestAllOfOneClientAreIdle(t *testing.T) {
	c := bound(nil, Bounds{Most: 10, PerNetwork: 2}, slog.New(slog.DiscardHandler))
	from := func() *conn {
		t.Helper()
		near, far := net.Pipe()
		t.Cleanup(func() { _, _ = near.Close(), far.Close() })
		in, why := c.admit(peerConn{near, net.TCPAddr{IP: net.IPv4(203, 0, 113, 7)}})
		if in == nil {
			t.Fatalf("a connection is refused: %s", why)
		}
		return in
	}
	for _, old := range []*conn{from(), from()} {
		old.idle.Store(time.Now().Add(-2 * maxIdle).UnixNano())
	}
	last := from()
	if n := len(c.all.open); n != 1 {
		t.Errorf("%d connections are open, want the last one", n)
	}
	if err := last.Close(); err != nil || len(c.networks) != 0 {
		t.Errorf("after the last one %d networks are left, %v", len(c.networks), err)
	}
}

// TestAWideNetworkHasHalf: the clients of one network cannot take all connections together, however many they are.
func TestAWideNetworkHasHalf(t *testing.T) {
	c := bound(nil, Bounds{Most: 20, PerNetwork: 4}, slog.New(slog.DiscardHandler))
	from := func(ip net.IP) bool {
		near, far := net.Pipe()
		t.Cleanup(func() { _, _ = near.Close(), far.Close() })
		in, _ := c.admit(peerConn{near, net.TCPAddr{IP: ip}})
		if in != nil {
			in.idle.Store(0) // a request is in progress
		}
		return in != nil
	}
	open := 0
	for i := range 20 {
		if from(net.IPv4(203, 0, 113, byte(i))) {
			open++
		}
	}
	if open != 10 || !from(net.IPv4(198, 51, 100, 1)) {
		t.Errorf("a /24 has %d of 20 connections, want 10, and the others for others", open)
	}
}
