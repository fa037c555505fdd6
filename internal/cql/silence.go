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

// A node that hangs keeps its sockets open and answers nothing. The driver goes on using it for minutes, until each request has timed out,
// though other replicas could answer. So we close a connection on which nothing came for twice the driver's heartbeat. The driver sends one
// every 5 seconds, and a healthy node answers at once, even under load. Silence is counted in ticks, not by the clock: if this process itself
// was paused, answers may be waiting to be read.
const (
	silenceTick = time.Second
	silentTicks = 10
)

var errSilent = errors.New("the node is silent")

// dialer is gocql's dialer, except that connections watch for silence, and that the timeout covers the TLS handshake: gocql would wait for
// ever for a node that does not speak TLS and stays silent.
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

// watched is a connection that closes itself when the node is silent. It embeds *net.TCPConn, not net.Conn, so that the driver can still
// write several buffers with one system call (writev).
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
	_ = w.Close() // can only fail if it is closed already
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
