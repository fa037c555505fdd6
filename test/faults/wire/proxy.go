// Package wire is a TCP proxy between a consumer and Cassandra that understands as much of the CQL protocol as it takes
// to know when counters are being written: so a fault can be timed to hit a flush instead of hoping for it. It can also
// swallow what Cassandra answers.
//
// gocql connects to the address that the first node gives as its own, at the port that was configured, and to other nodes
// at the port they give. With one node a proxy on the node's address at another port is therefore the only way.
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

	mu        sync.Mutex
	links     map[*link]bool
	written   int64     // counter writes passed on,
	sent      time.Time // the last of them
	swallowed int64     // answers to counter writes kept back
	late      Late
	lose      map[Kind]int // so many are still to be kept from Cassandra
	burst     int          // writes of the trigger's kind in a row, none of them long after the one before
	last      time.Time    // when the last of these came
	trigger   *trigger
}

// Kind is what a write is about.
type Kind byte

// The kinds of batches that a consumer writes, numbered as in the protocol.
const (
	Visitors Kind = 1 // unlogged
	Counters Kind = 2
)

// trigger is a call to make in the midst of a flush.
type trigger struct {
	kind  Kind
	after int
	call  func(unanswered int)
	done  chan struct{}
}

// pause is how long there are no such writes between two flushes at least, and within one at the most.
const pause = 100 * time.Millisecond

// New listens on an address (host:port, port 0 for any) and passes on to target. patience is how long the client waits for
// an answer.
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

// During calls f once, as soon as a flush has sent so many writes of a kind. Until f returns, the connection that carried
// the last one is held up. f is told how many counter writes Cassandra has not answered then. The channel is closed after
// f.
func (p *Proxy) During(kind Kind, writes int, f func(unanswered int)) <-chan struct{} {
	t := &trigger{kind: kind, after: max(writes, 1), call: f, done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trigger, p.burst = t, 0
	p.last = time.Now() // a flush that is under way is not counted from its middle
	return t.done
}

// Lose keeps the next so many writes of a kind from Cassandra. Nobody answers them.
func (p *Proxy) Lose(kind Kind, writes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose[kind] = writes
}

// Unlost is how many of them have still to come.
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

// Mute keeps back everything that Cassandra answers from now on; Cassandra goes on getting requests.
func (p *Proxy) Mute() { p.muted.Store(true) }

// Unmute lets answers through again. Those that were kept back do not come any more.
func (p *Proxy) Unmute() { p.muted.Store(false) }

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Quiet tells whether every counter write is answered and none came for a moment: the last flush is acknowledged.
func (p *Proxy) Quiet() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unanswered() > 0 {
		return false
	}
	return time.Since(p.sent) > 10*time.Millisecond
}

// Written is how many counter writes were passed on so far, Swallowed how many answers to such were kept back.
func (p *Proxy) Written() int64 { return p.read(&p.written) }

// Swallowed see Written.
func (p *Proxy) Swallowed() int64 { return p.read(&p.swallowed) }

// Late is about counter writes that Cassandra applied after the client had given them up, because it had closed the
// connection or its patience was over.
type Late struct {
	Writes int
	Last   time.Time // when the last of them was answered
}

// Late counts such writes.
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

// sending notes that a counter write is about to be passed on: its answer may be faster than wrote.
func (p *Proxy) sending(l *link, stream uint16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = time.Now()
	l.waiting[stream] = p.sent
	p.written++
}

// wrote notes that a write has been passed on, and calls the trigger when it is due.
func (p *Proxy) wrote(kind Kind) {
	p.mu.Lock()
	t, now := p.trigger, time.Now()
	if t == nil || t.kind != kind {
		p.mu.Unlock()
		return
	}
	// Right after During a flush may be under way: it counts only from its beginning.
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

// unanswered counts the counter writes that somebody waits for. The caller holds the mutex.
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
