package admission

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/internal/fair"
)

const (
	// maxIdle is how long a connection may be idle once a bound is reached.
	maxIdle = 2 * time.Second

	// sweepEvery is how long the result of a sweep stands that found nothing to close, so that a flood of connections costs
	// little.
	sweepEvery = 10 * time.Millisecond

	// sendBuffer bounds what the kernel keeps per connection of answers that a client does not read; Linux takes twice as much.
	sendBuffer = 64 << 10
)

// Why a connection is closed.
const cutAll, cutNetwork, cutIdle = "all", "network", "idle"

// Conns is a listener that bounds how many connections are open at once: of all, of one client, and of one wide network. A
// trusted proxy counts for all only. When a bound is reached idle connections are closed; if none is idle the new one is
// closed. So one client cannot lock the others out, and clients that share an address lose idle connections only. It is safe for
// concurrent use.
type Conns struct {
	net.Listener
	perNetwork int                   // 0: any number
	trusted    func(netip.Addr) bool // tells which addresses are trusted proxies
	cut        *prometheus.CounterVec

	mu       sync.Mutex
	all      *connSet
	networks map[netip.Prefix]*connSet
}

// connSet is connections that share a bound.
type connSet struct {
	most  int
	open  map[*conn]struct{}
	swept time.Time // when a sweep last found nothing to close
}

// conn is one connection.
type conn struct {
	net.Conn
	of       *Conns
	networks []fair.Network
	idle     atomic.Int64 // since when, in Unix nanoseconds; 0: a request is in progress
}

// LimitConns bounds the connections of a listener to most of all and perNetwork of one client; 0 is no limit per client. reg
// must not have another listener's metrics.
func LimitConns(l net.Listener, most, perNetwork int, trusted func(netip.Addr) bool, reg prometheus.Registerer) *Conns {
	c := &Conns{
		Listener: l, perNetwork: perNetwork, trusted: trusted, all: &connSet{most: most, open: map[*conn]struct{}{}}, networks: map[netip.Prefix]*connSet{},
		cut: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "footfall_door_connections_cut_total",
			Help: "Connections that were closed because there were too many, by reason: all (new; http.connections), network (new; http.connections_per_network), idle (to make room).",
		}, []string{"reason"}),
	}
	for _, reason := range []string{cutAll, cutNetwork, cutIdle} {
		c.cut.WithLabelValues(reason) // so that 0 is shown
	}
	open := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "footfall_door_connections", Help: "Open connections; http.connections is the most there can be.",
	}, func() float64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		return float64(len(c.all.open))
	})
	reg.MustRegister(c.cut, open)
	return c
}

// Accept returns the next connection that is within the bounds.
func (c *Conns) Accept() (net.Conn, error) {
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
		reset(raw)
	}
}

// admit adds a connection, or says which bound it is over.
func (c *Conns) admit(raw net.Conn) (in *conn, why string) {
	in = &conn{Conn: raw, of: c}
	in.idle.Store(time.Now().UnixNano()) // until its first request begins
	if tcp, ok := raw.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBuffer) // an error leaves the system's default
	}
	if at, ok := raw.RemoteAddr().(*net.TCPAddr); ok && c.perNetwork > 0 {
		if ip := at.AddrPort().Addr().Unmap().WithZone(""); !c.trusted(ip) {
			in.networks = fair.Networks(ip)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, network := range in.networks {
		if c.networks[network.Prefix] == nil {
			most := c.perNetwork
			if i > 0 { // a wide one has half of all at the most
				most = min(most*network.Times, max(most, c.all.most/2))
			}
			c.networks[network.Prefix] = &connSet{most: most, open: map[*conn]struct{}{}}
		}
		if !c.makeRoom(c.networks[network.Prefix]) {
			c.remove(in)
			return nil, cutNetwork
		}
	}
	if !c.makeRoom(c.all) {
		c.remove(in)
		return nil, cutAll
	}
	c.all.open[in] = struct{}{}
	for _, network := range in.networks {
		c.networks[network.Prefix].open[in] = struct{}{}
	}
	return in, ""
}

// makeRoom tells whether a set may have one more connection. If the bound is reached it closes idle ones. The caller holds mu.
func (c *Conns) makeRoom(set *connSet) bool {
	if len(set.open) < set.most {
		return true
	}
	now := time.Now()
	if now.Sub(set.swept) < sweepEvery {
		return false
	}
	var longest *conn
	var since int64
	for one := range set.open {
		idle := one.idle.Load()
		if idle == 0 {
			continue
		}
		if now.UnixNano()-idle > int64(maxIdle) {
			c.closeIdle(one)
		} else if longest == nil || idle < since {
			longest, since = one, idle
		}
	}
	if len(set.open) >= set.most && longest != nil {
		c.closeIdle(longest)
	}
	if len(set.open) >= set.most {
		set.swept = now
		return false
	}
	return true
}

// closeIdle closes an idle connection. The caller holds mu.
func (c *Conns) closeIdle(one *conn) {
	c.cut.WithLabelValues(cutIdle).Inc()
	c.remove(one)
	reset(one.Conn)
}

// remove takes a connection out of all sets; it may be called again. The caller holds mu.
func (c *Conns) remove(one *conn) {
	delete(c.all.open, one)
	for _, network := range one.networks {
		if set := c.networks[network.Prefix]; set != nil {
			if delete(set.open, one); len(set.open) == 0 {
				delete(c.networks, network.Prefix)
			}
		}
	}
}

// Close closes the connection and makes room for another.
func (c *conn) Close() error {
	c.of.mu.Lock()
	c.of.remove(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// TrackIdle is the http.Server.ConnState of a server that listens on Conns: it notes which connections are idle.
func TrackIdle(of net.Conn, state http.ConnState) {
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

// reset closes a connection at once: the kernel drops what was not sent yet, and keeps nothing of it.
func reset(raw net.Conn) {
	if tcp, ok := raw.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // on error it lingers for a while
	}
	_ = raw.Close() // there is nobody to report an error to
}
