// Package listen is how a process listens, on every address: conns.go bounds connections, server.go answers HTTP over them, hosts.go refuses
// names that are not this machine's.
package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/internal/fair"
	"footfall/internal/metric"
)

const (
	// kept is how many file descriptors are for everything but the public's connections: Kafka, Cassandra, files, operators. One process under
	// load needs some 80.
	kept = 320

	// leastRoom is with how few connections of the public a process still starts.
	leastRoom = 96

	// maxIdle is how long a connection may be idle once a bound is reached.
	maxIdle = 2 * time.Second

	// maxUnread is how long a write may block once a bound is reached: the client does not read what it asked for.
	maxUnread = time.Second / 2

	// sweepEvery is how long the result of a sweep stands that found nothing to close, so that a flood of connections costs
	// little.
	sweepEvery = 10 * time.Millisecond

	// sendBuffer bounds what the kernel keeps per connection of answers that a client does not read; Linux takes twice as much.
	sendBuffer = 64 << 10
)

// Why a connection is closed.
const cutAll, cutNetwork, cutIdle, cutUnread = "all", "network", "idle", "unread"

// Bounds says how many connections a listener may have.
type Bounds struct {
	Most       int                   // of all; fewer if the process may not open as many files
	PerNetwork int                   // of one client; a wide network may have more. 0: any number
	Trusted    func(netip.Addr) bool // tells which addresses count for all only: trusted proxies. Default: none
	Metrics    prometheus.Registerer // which must not have another listener's of this name. Default: there are none
	Name       string                // with which names of metrics begin, such as footfall_producer
}

// Conns is a listener that bounds how many connections are open at once: of all, of one client, and of its wide networks. When a bound is reached
// it closes those whose clients do not read, and idle ones; if there is none it closes the new one. So one client cannot lock the others out,
// and clients that share an address lose idle connections only. It is safe for concurrent use.
type Conns struct {
	net.Listener
	bounds Bounds
	log    *slog.Logger
	cut    *prometheus.CounterVec

	mu       sync.Mutex
	all      *connSet
	networks map[netip.Prefix]*connSet
}

// connSet is connections that share a bound.
type connSet struct {
	network netip.Prefix // zero: it is the set of all
	most    int
	open    map[*conn]struct{}
	swept   time.Time // when a sweep last found nothing to close
}

// conn is one connection.
type conn struct {
	net.Conn
	of      *Conns
	sets    []*connSet   // that it is in: those of its client's networks, and that of all
	idle    atomic.Int64 // since when, in Unix nanoseconds; 0: a request is in progress
	writing atomic.Int64 // since when a write is in progress; 0: none is
}

// Open listens on addr; port 0 takes any free one. key is the configuration key of addr, for errors. That it cannot listen is a *configs.Wrong.
func Open(ctx context.Context, key, addr string, b Bounds, log *slog.Logger) (*Conns, error) {
	most, err := b.fit(descriptors())
	if err != nil {
		return nil, fmt.Errorf("listening on %s (%s): %w", addr, key, err)
	}
	if most < b.Most {
		log.Warn("there are file descriptors for fewer connections than configured: raise their limit (ulimit -n)", "listener", key,
			"connections", most, "configured", b.Most, "limit", kept+2*b.Most)
		b.Most = most
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		running := ""
		if errors.Is(err, syscall.EADDRINUSE) {
			running = "is footfall running already? Else "
		}
		return nil, configs.MarkWrong(fmt.Errorf("%w: %sset %s (%s; port 0 takes any free one)", err, running, key, configs.Variable(key)))
	}
	return bound(l, b, log), nil
}

// fit is how many connections there may be of a process that may open so many files. A process has two public listeners at the most.
func (b Bounds) fit(files uint64) (most int, err error) {
	if files < kept+2*leastRoom {
		return 0, fmt.Errorf("the process may open %d files, and needs %d: raise the limit (ulimit -n)", files, kept+2*leastRoom)
	}
	return int(min(uint64(b.Most), (files-kept)/2)), nil //nolint:gosec // no more than Most
}

func bound(l net.Listener, b Bounds, log *slog.Logger) *Conns {
	c := &Conns{
		Listener: l, bounds: b, log: log, all: &connSet{most: b.Most, open: map[*conn]struct{}{}}, networks: map[netip.Prefix]*connSet{},
		cut: metric.Counters(b.Metrics, b.Name+"_connections_cut_total",
			"Connections that were closed because there were too many, by reason: all (new), network (new; too many of one client), idle (to make room), unread (to make room: its client did not read).", "reason"),
	}
	metric.Zero(c.cut, cutAll, cutNetwork, cutIdle, cutUnread)
	metric.Measured(b.Metrics, b.Name+"_connections", "Open connections.", func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.all.open)
	})
	return c
}

// Accept returns the next connection that is within the bounds. If accepting fails, as it does without a free file descriptor, it is tried
// again, whatever the error.
func (c *Conns) Accept() (net.Conn, error) {
	for pause := 5 * time.Millisecond; ; {
		raw, err := c.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil, err
		}
		if err != nil {
			c.log.Error("a connection could not be accepted: trying again", "error", err.Error())
			time.Sleep(pause)
			pause = min(2*pause, time.Second)
			continue
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
	c.mu.Lock()
	defer c.mu.Unlock()
	in.sets = append(c.setsOf(raw.RemoteAddr()), c.all)
	for _, set := range in.sets {
		if c.makeRoom(set) {
			continue
		}
		if set == c.all {
			return nil, cutAll
		}
		return nil, cutNetwork
	}
	for _, set := range in.sets {
		if set.open[in] = struct{}{}; set != c.all {
			c.networks[set.network] = set // it may be new, or lost its last connection to make room
		}
	}
	return in, ""
}

// setsOf are the sets of the networks that an address counts for. The caller holds mu.
func (c *Conns) setsOf(peer net.Addr) (sets []*connSet) {
	at, ok := peer.(*net.TCPAddr)
	if !ok || c.bounds.PerNetwork == 0 {
		return nil
	}
	ip := at.AddrPort().Addr().Unmap().WithZone("")
	if c.bounds.Trusted != nil && c.bounds.Trusted(ip) {
		return nil
	}
	for i, network := range fair.Networks(ip) {
		set := c.networks[network.Prefix]
		if set == nil {
			most := c.bounds.PerNetwork
			if i > 0 { // a wide one has half of all at the most
				most = min(most*network.Times, max(most, c.all.most/2))
			}
			set = &connSet{network: network.Prefix, most: most, open: map[*conn]struct{}{}}
		}
		sets = append(sets, set)
	}
	return sets
}

// makeRoom tells whether a set may have one more connection. If the bound is reached it closes connections that nobody uses. The caller holds
// mu.
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
		idle, writing := one.idle.Load(), one.writing.Load()
		switch {
		case writing != 0 && now.UnixNano()-writing > int64(maxUnread):
			c.close(one, cutUnread)
		case idle == 0:
		case now.UnixNano()-idle > int64(maxIdle):
			c.close(one, cutIdle)
		case longest == nil || idle < since:
			longest, since = one, idle
		}
	}
	if len(set.open) >= set.most && longest != nil {
		c.close(longest, cutIdle)
	}
	if len(set.open) >= set.most {
		set.swept = now
		return false
	}
	return true
}

// close closes a connection to make room. The caller holds mu.
func (c *Conns) close(one *conn, why string) {
	c.cut.WithLabelValues(why).Inc()
	c.remove(one)
	reset(one.Conn)
}

// remove takes a connection out of all sets; it may be called again. The caller holds mu.
func (c *Conns) remove(one *conn) {
	for _, set := range one.sets {
		if delete(set.open, one); len(set.open) == 0 {
			delete(c.networks, set.network)
		}
	}
	one.sets = nil
}

// Close closes the connection and makes room for another.
func (c *conn) Close() error {
	c.of.mu.Lock()
	c.of.remove(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// Write notes since when it blocks.
func (c *conn) Write(text []byte) (int, error) {
	c.writing.Store(time.Now().UnixNano())
	defer c.writing.Store(0)
	return c.Conn.Write(text)
}

// trackIdle is the http.Server.ConnState of a server: it notes which connections are idle.
func trackIdle(of net.Conn, state http.ConnState) {
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
