// Package wire is a TCP proxy between a consumer and Cassandra. It understands enough of the CQL protocol to know when counters are being
// written, so that a fault can be timed to hit a flush. It can also drop Cassandra's answers.
//
// gocql connects to the first node at the address that the node announces and the port that is configured, and to other nodes at the port
// that they announce. So a proxy must listen on the node's own address at another port, and works with one node only.
package wire

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy passes on connections until Close. Safe for concurrent use.
type Proxy struct {
	listener net.Listener
	target   string
	patience time.Duration
	muted    atomic.Bool
	gap      atomic.Int64 // nanoseconds; see Slow
	turn     sync.Mutex   // held while a counter write waits for its turn
	next     time.Time    // when the next one may pass; guarded by turn

	mu        sync.Mutex
	links     map[*link]bool
	written   int64     // counter writes passed on
	sent      time.Time // when the last of them was
	swallowed int64     // answers to counter writes that were dropped
	late      Late
	lose      map[Kind]int // how many writes are still to be dropped
	burst     int          // writes of the trigger's kind in the flush so far
	last      time.Time    // when the last of these came
	trigger   *trigger
}

// Kind is the kind of a write.
type Kind byte

// The kinds of batches that a consumer writes, numbered as in the protocol.
const (
	Visitors Kind = 1 // unlogged
	Counters Kind = 2
)

// trigger calls a function in the midst of a flush.
type trigger struct {
	kind  Kind
	after int
	call  func(unanswered int)
	done  chan struct{}
}

// pause separates flushes: writes that follow each other within it belong to the same flush.
const pause = 100 * time.Millisecond

// New listens on an address (host:port, port 0 for any) and passes connections on to target. patience is the client's timeout.
func New(listen, target string, patience time.Duration) (*Proxy, error) {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("starting the proxy: %w", err)
	}
	p := &Proxy{listener: listener, target: target, patience: patience, links: map[*link]bool{}, lose: map[Kind]int{}}
	go p.accept()
	return p, nil
}

// Port is where it listens.
func (p *Proxy) Port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// Close ends the proxy and its connections.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.Cut()
	return err
}

// During calls f once, as soon as a flush has sent so many writes of a kind, with the number of counter writes that Cassandra has not
// answered. The connection of the last write waits until f returns. Then the channel is closed.
func (p *Proxy) During(kind Kind, writes int, f func(unanswered int)) <-chan struct{} {
	t := &trigger{kind: kind, after: max(writes, 1), call: f, done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trigger, p.burst = t, 0
	p.last = time.Now() // a flush that is already under way does not count
	return t.done
}

// Lose drops the next so many writes of a kind. They get no answer.
func (p *Proxy) Lose(kind Kind, writes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose[kind] = writes
}

// Unlost is how many of them are still to be dropped.
func (p *Proxy) Unlost(kind Kind) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lose[kind]
}

func (p *Proxy) loses(kind Kind) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lose[kind] == 0 {
		return false
	}
	p.lose[kind]--
	return true
}

// Mute drops all answers of Cassandra from now on; requests still pass.
func (p *Proxy) Mute() { p.muted.Store(true) }

// Unmute lets answers pass again. Dropped ones stay lost.
func (p *Proxy) Unmute() { p.muted.Store(false) }

// Slow lets one counter write pass every so often from now on, over all connections: 0 for as many as come. The next requests of a
// connection whose write waits for its turn wait with it.
func (p *Proxy) Slow(gap time.Duration) { p.gap.Store(int64(gap)) }

// await waits for a counter write's turn.
func (p *Proxy) await() {
	p.turn.Lock()
	defer p.turn.Unlock()
	if now := time.Now(); p.next.Before(now) {
		p.next = now
	}
	time.Sleep(time.Until(p.next))
	p.next = p.next.Add(time.Duration(p.gap.Load()))
}

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Quiet reports whether the last flush is acknowledged: every counter write is answered, and none came for 10 ms.
func (p *Proxy) Quiet() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unanswered() > 0 {
		return false
	}
	return time.Since(p.sent) > 10*time.Millisecond
}

// Written is how many counter writes were passed on so far.
func (p *Proxy) Written() int64 { return p.read(&p.written) }

// Swallowed is how many answers to counter writes were dropped so far.
func (p *Proxy) Swallowed() int64 { return p.read(&p.swallowed) }

// Late counts counter writes that Cassandra applied after the client had closed the connection or its timeout was over.
type Late struct {
	Writes int
	Last   time.Time // when the last of them was answered
}

// Late is the count so far.
func (p *Proxy) Late() Late {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.late
}

func (p *Proxy) read(n *int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *n
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			go p.serve(client)
		}
	}
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.DialTimeout("tcp", p.target, 5*time.Second)
	if err != nil {
		_ = client.Close() // as if Cassandra itself had refused
		return
	}
	l := &link{proxy: p, client: client, server: server, waiting: map[uint16]time.Time{}}
	p.mu.Lock()
	p.links[l] = true
	p.mu.Unlock()
	l.run()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// sending notes a counter write before it is passed on, since the answer may come before wrote is called.
func (p *Proxy) sending(l *link, stream uint16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = time.Now()
	l.waiting[stream] = p.sent
	p.written++
}

// wrote notes that a write was passed on, and calls the trigger when it is due.
func (p *Proxy) wrote(kind Kind) {
	p.mu.Lock()
	t, now := p.trigger, time.Now()
	if t == nil || t.kind != kind {
		p.mu.Unlock()
		return
	}
	// A flush that was under way when During was called does not count: burst stays 0 until there was a pause.
	if now.Sub(p.last) > pause {
		p.burst = 1
	} else if p.burst > 0 {
		p.burst++
	}
	p.last = now
	if p.burst < t.after {
		p.mu.Unlock()
		return
	}
	p.trigger = nil
	unanswered := p.unanswered()
	p.mu.Unlock()
	t.call(unanswered)
	close(t.done)
}

// unanswered counts the counter writes whose client still waits. The caller holds the mutex.
func (p *Proxy) unanswered() (n int) {
	for l := range p.links {
		if !l.abandoned.Load() {
			n += len(l.waiting)
		}
	}
	return n
}

func (p *Proxy) answered(l *link, stream uint16, applied bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent, waiting := l.waiting[stream]
	delete(l.waiting, stream)
	if now := time.Now(); waiting && applied && (l.abandoned.Load() || now.Sub(sent) > p.patience) {
		p.late = Late{p.late.Writes + 1, now}
	}
}

func (p *Proxy) swallow(l *link, stream uint16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, waiting := l.waiting[stream]; waiting {
		p.swallowed++
	}
}
