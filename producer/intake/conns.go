package intake

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/producer/admission"
)

const (
	// wideShare is how many times as many connections a wide network may have as a narrow one.
	wideShare = 4

	// busyIdle is how long a connection may be idle where there are as many as there may be.
	busyIdle = 2 * time.Second

	// sweepEvery is how long a sweep that found nothing stands, so that a flood of connections costs little.
	sweepEvery = 10 * time.Millisecond

	// sendBuffer is what the system keeps of answers that a client does not read, per connection; Linux takes twice as much.
	sendBuffer = 64 << 10
)

// Why a connection is cut.
const cutAll, cutNetwork, cutIdle = "all", "network", "idle"

// conns is a listener that bounds how many connections there are at once: of all, and of one network, where a trusted proxy is
// none. Where there are as many as there may be, those that are idle have to go; if none is, the new one is closed. So one
// client cannot keep the others out, and whoever is behind the same address as many others only loses what it did not use. It
// is safe for concurrent use.
type conns struct {
	net.Listener
	perNetwork int                   // 0: any number
	proxy      func(netip.Addr) bool // tells who is trusted
	cut        *prometheus.CounterVec

	mu       sync.Mutex
	all      *crowd
	networks map[netip.Prefix]*crowd
}

// crowd is connections that share a bound.
type crowd struct {
	most   int
	open   map[*conn]struct{}
	barren time.Time // when a sweep last found nothing
}

// conn is one connection.
type conn struct {
	net.Conn
	of       *conns
	networks []netip.Prefix
	idle     atomic.Int64 // since when, in Unix nanoseconds; 0: a request is under way
}

func boundConns(l net.Listener, most, perNetwork int, proxy func(netip.Addr) bool, reg prometheus.Registerer) *conns {
	c := &conns{
		Listener: l, perNetwork: perNetwork, proxy: proxy, all: &crowd{most: most, open: map[*conn]struct{}{}}, networks: map[netip.Prefix]*crowd{},
		cut: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "footfall_door_connections_cut_total",
			Help: "Connections that were closed because there were too many, by reason: all (new; http.connections), network (new; http.connections_per_network), idle (to make room).",
		}, []string{"reason"}),
	}
	for _, reason := range []string{cutAll, cutNetwork, cutIdle} {
		c.cut.WithLabelValues(reason) // 0 is worth seeing
	}
	reg.MustRegister(c.cut)
	gauge(reg, "footfall_door_connections", "Open connections; http.connections is the most there can be.", func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.all.open)
	})
	return c
}

// Accept waits for a connection for which there is room.
func (c *conns) Accept() (net.Conn, error) {
	for {
		raw, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		in, why := c.admit(raw)
		if in != nil {
			return in, nil
		}
		c.cut.WithLabelValues(why).Inc()
		discard(raw)
	}
}

// admit makes room for a connection, or says which bound it is over.
func (c *conns) admit(raw net.Conn) (in *conn, why string) {
	in = &conn{Conn: raw, of: c}
	in.idle.Store(time.Now().UnixNano()) // until its first request is there
	if tcp, ok := raw.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBuffer) // else it has what the system gives
	}
	if at, ok := raw.RemoteAddr().(*net.TCPAddr); ok && c.perNetwork > 0 {
		if ip := at.AddrPort().Addr().Unmap().WithZone(""); !c.proxy(ip) {
			in.networks = networksOf(ip)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, network := range in.networks {
		if c.networks[network] == nil {
			most := c.perNetwork
			if i > 0 {
				most *= wideShare
			}
			c.networks[network] = &crowd{most: most, open: map[*conn]struct{}{}}
		}
		if !c.room(c.networks[network]) {
			c.forget(in)
			return nil, cutNetwork
		}
	}
	if !c.room(c.all) {
		c.forget(in)
		return nil, cutAll
	}
	c.all.open[in] = struct{}{}
	for _, network := range in.networks {
		c.networks[network].open[in] = struct{}{}
	}
	return in, ""
}

// networksOf are whom an address belongs to: the client, and the network that one hoster's customer may have. A wide one may
// also be thousands of telephones, so that it may have more.
func networksOf(ip netip.Addr) []netip.Prefix {
	wide := 24
	if ip.Is6() {
		wide = 48
	}
	network, err := ip.Prefix(wide)
	if err != nil {
		return nil
	}
	return []netip.Prefix{admission.NetworkOf(ip), network}
}

// room tells whether a crowd may have one more connection, and makes room if it has idle ones. The caller holds mu.
func (c *conns) room(g *crowd) bool {
	if len(g.open) < g.most {
		return true
	}
	now := time.Now()
	if now.Sub(g.barren) < sweepEvery {
		return false
	}
	var longest *conn
	var since int64
	for one := range g.open {
		idle := one.idle.Load()
		if idle == 0 {
			continue
		}
		if now.UnixNano()-idle > int64(busyIdle) {
			c.close(one)
		} else if longest == nil || idle < since {
			longest, since = one, idle
		}
	}
	if len(g.open) >= g.most && longest != nil {
		c.close(longest)
	}
	if len(g.open) >= g.most {
		g.barren = now
		return false
	}
	return true
}

// close ends an idle connection. The caller holds mu.
func (c *conns) close(one *conn) {
	c.cut.WithLabelValues(cutIdle).Inc()
	c.forget(one)
	discard(one.Conn)
}

// forget takes a connection out of all crowds; it may be called again. The caller holds mu.
func (c *conns) forget(one *conn) {
	delete(c.all.open, one)
	for _, network := range one.networks {
		if g := c.networks[network]; g != nil {
			if delete(g.open, one); len(g.open) == 0 {
				delete(c.networks, network)
			}
		}
	}
}

// Close gives the connection's room back.
func (c *conn) Close() error {
	c.of.mu.Lock()
	c.of.forget(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// follow is told by net/http what a connection does.
func follow(of net.Conn, state http.ConnState) {
	if secure, ok := of.(*tls.Conn); ok {
		of = secure.NetConn()
	}
	one, ok := of.(*conn)
	if !ok {
		return
	}
	switch state {
	case http.StateActive:
		one.idle.Store(0)
	case http.StateIdle:
		one.idle.Store(time.Now().UnixNano())
	}
}

// discard closes a connection at once: what it was not sent yet is dropped, and the system keeps nothing of it.
func discard(raw net.Conn) {
	if tcp, ok := raw.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // or it lingers for a while
	}
	_ = raw.Close() // nobody is there to be told
}
