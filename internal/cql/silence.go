package cql

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"
)

// A node that hangs keeps its sockets open and answers nothing. The driver goes on asking it until each request has timed
// out, for minutes; where others hold the data too, that stops everybody for nothing. So a connection ends when nothing
// came from it for twice the driver's heartbeat, which is sent every 5 seconds and which a node answers at once, whatever
// else it has to do. The time is counted in ticks: when this process itself was paused, the answers are there and deserve
// to be read.
const (
	silenceTick = time.Second
	silentTicks = 10
)

var errSilent = errors.New("the node is silent")

// dialer is gocql's own, but that the connections watch the node, and that the TLS handshake is bounded too: with a node
// that does not know TLS and stays silent, the driver would wait for ever.
type dialer struct{ secure *tls.Config }

// DialHost implements gocql.HostDialer.
func (d *dialer) DialHost(ctx context.Context, host *gocql.HostInfo) (*gocql.DialedHost, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host.ConnectAddressAndPort())
	if err != nil {
		return nil, err
	}
	return gocql.WrapTLS(ctx, watch(conn.(*net.TCPConn), silenceTick), host.HostnameAndPort(), d.secure)
}

// watched is a connection that ends when the node is silent. It is a TCPConn, not any Conn, so that the driver's writes can
// still be gathered into one.
type watched struct {
	*net.TCPConn
	heard  atomic.Bool // since the last tick
	silent atomic.Bool
	once   sync.Once
	done   chan struct{}
}

func watch(conn *net.TCPConn, tick time.Duration) *watched {
	w := &watched{TCPConn: conn, done: make(chan struct{})}
	go w.count(tick)
	return w
}

func (w *watched) count(tick time.Duration) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for silent := 0; silent < silentTicks; silent++ {
		select {
		case <-w.done:
			return
		case <-ticker.C:
		}
		if w.heard.Swap(false) {
			silent = -1
		}
	}
	w.silent.Store(true)
	_ = w.Close() // its error would be that it is closed
}

// Read implements net.Conn.
func (w *watched) Read(b []byte) (int, error) {
	n, err := w.TCPConn.Read(b)
	if n > 0 {
		w.heard.Store(true)
	}
	if err != nil && w.silent.Load() {
		err = &net.OpError{Op: "read", Net: "tcp", Addr: w.RemoteAddr(), Err: errSilent}
	}
	return n, err
}

// Close implements net.Conn.
func (w *watched) Close() error {
	w.once.Do(func() { close(w.done) })
	return w.TCPConn.Close()
}
