package wire

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is one connection through the proxy: the client's half and the server's.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	once           sync.Once
	waiting        map[uint16]time.Time // when each unanswered counter write was sent, by stream; guarded by the proxy's mutex
	abandoned      atomic.Bool          // the client has closed its half
}

func (l *link) close() {
	l.once.Do(func() { // an error changes nothing
		_ = l.client.Close()
		_ = l.server.Close()
	})
}

// run passes frames on both ways until the server's half closes. When the client's half closes Cassandra is not told, as if the client's
// machine had died: it goes on with the requests it has, and the proxy still sees the answers.
func (l *link) run() {
	var both sync.WaitGroup
	both.Go(func() {
		frames(l.client, l.server, l.send, func(f frame) { l.proxy.wrote(f.batch()) })
		l.abandoned.Store(true)
	})
	both.Go(func() {
		defer l.close()
		frames(l.server, l.client, l.deliver, func(frame) {})
	})
	both.Wait()
}

// send reports whether a request may pass.
func (l *link) send(f frame) bool {
	if l.proxy.loses(f.batch()) {
		return false
	}
	if f.batch() == Counters {
		l.proxy.await()
		l.proxy.sending(l, f.stream())
	}
	return true
}

// deliver reports whether an answer may pass. A counter write whose answer is dropped stays unanswered.
func (l *link) deliver(f frame) bool {
	if l.proxy.muted.Load() {
		l.proxy.swallow(l, f.stream())
		return false
	}
	l.proxy.answered(l, f.stream(), f[4] == opResult)
	return !l.abandoned.Load()
}

// frame is one message of the CQL binary protocol, version 4: version, flags, stream (2), opcode, length (4), body.
type frame []byte

const (
	headerSize = 9
	opResult   = 0x08 // success; any other answer to a batch is an error
	opBatch    = 0x0d
	maxFrame   = 256 << 20
)

func (f frame) stream() uint16 { return binary.BigEndian.Uint16(f[2:]) }

// batch is the kind of a batch, or 0 for any other request.
func (f frame) batch() Kind {
	if f[4] != opBatch || len(f) == headerSize {
		return 0
	}
	return Kind(f[headerSize])
}

// frames passes frames from one side to the other: those for which pass is true, and calls passed after each. It returns when the side
// that it reads from has closed.
func frames(from, to net.Conn, pass func(frame) bool, passed func(frame)) {
	in := bufio.NewReaderSize(from, 64<<10)
	for {
		header, err := in.Peek(headerSize)
		if err != nil {
			return
		}
		length := int(binary.BigEndian.Uint32(header[5:]))
		if length > maxFrame {
			return // not CQL
		}
		f := make(frame, headerSize+length)
		if _, err := io.ReadFull(in, f); err != nil {
			return
		}
		if !pass(f) {
			continue
		}
		if _, err := to.Write(f); err != nil {
			continue // closed; go on reading, since pass has to see every frame
		}
		passed(f)
	}
}
