package intake

import (
	"container/list"
	"context"
	"io"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Bodies that are larger than one event share a few places. Whoever has one has to hurry, and nobody has many: else some
// slow senders would keep everybody's batches out.
const (
	largeBodies    = 128  // in memory at once
	largePerClient = 16   // of those, by one client
	largeWaiting   = 1024 // how many may wait for a place, each with the data of one event at most
	largeQueue     = 32   // of those, of one client

	largePatience = 3 * time.Second // how long each of them waits
	largeGrace    = time.Second     // what a sender with a place may take besides its data
	largeRate     = 64 << 10        // bytes a second that its data must come at: the most within readTimeout
)

// places are given in the order in which they are asked for, but for clients that have as many as they may. It is safe for
// concurrent use.
type places struct {
	most, perClient int           // taken
	line, perLine   int           // waiting, of all and of one client
	patience        time.Duration // of who waits

	mu      sync.Mutex
	taken   int
	by      map[netip.Prefix]int
	waiting *list.List // of *waiter, the first in front
	inLine  map[netip.Prefix]int
}

// waiter wants a place. given is closed when it has one.
type waiter struct {
	client netip.Prefix
	given  chan struct{}
}

func newPlaces(most, perClient, line, perLine int, patience time.Duration) *places {
	return &places{
		most: most, perClient: perClient, line: line, perLine: perLine, patience: patience,
		by: map[netip.Prefix]int{}, waiting: list.New(), inLine: map[netip.Prefix]int{},
	}
}

// take waits for a place for a while, but not longer than ctx, and tells whether there was one. Whoever has it gives it back.
func (p *places) take(ctx context.Context, client netip.Prefix) bool {
	p.mu.Lock()
	if p.free(client) {
		p.grant(client)
		p.mu.Unlock()
		return true
	}
	if p.waiting.Len() >= p.line || p.inLine[client] >= p.perLine {
		p.mu.Unlock()
		return false
	}
	me := &waiter{client, make(chan struct{})}
	place := p.waiting.PushBack(me)
	p.inLine[client]++
	p.mu.Unlock()

	enough := time.NewTimer(p.patience)
	defer enough.Stop()
	select {
	case <-me.given:
		return true
	case <-enough.C:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-me.given: // just now
		return true
	default:
		p.leave(place)
		return false
	}
}

// give gives a place back, and on to whoever waits longest and may have it.
func (p *places) give(client netip.Prefix) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	less(p.by, client)
	for e := p.waiting.Front(); e != nil; e = e.Next() {
		if next := e.Value.(*waiter); p.free(next.client) {
			p.leave(e)
			p.grant(next.client)
			close(next.given)
			return
		}
	}
}

// room is for a request that may need one of the places. Its owner defers leave before anything else, so that whatever
// happens, a panic too, the place is given back.
type room struct {
	of     *places // nil: it has none
	client netip.Prefix
}

func (r *room) take(ctx context.Context, of *places, client netip.Prefix) bool {
	if !of.take(ctx, client) {
		return false
	}
	r.of, r.client = of, client
	return true
}

// leave gives the place back, if there is one; it may be called again.
func (r *room) leave() {
	if r.of != nil {
		r.of.give(r.client)
		r.of = nil
	}
}

// leave, free and grant are for holders of mu.
func (p *places) leave(e *list.Element) {
	p.waiting.Remove(e)
	less(p.inLine, e.Value.(*waiter).client)
}

func (p *places) free(client netip.Prefix) bool {
	return p.taken < p.most && p.by[client] < p.perClient
}

func (p *places) grant(client netip.Prefix) {
	p.taken++
	p.by[client]++
}

// less takes one away from a count, and forgets who has none.
func less(counts map[netip.Prefix]int, client netip.Prefix) {
	if counts[client]--; counts[client] == 0 {
		delete(counts, client)
	}
}

// inUse is how many places are taken.
func (p *places) inUse() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// paced reads a body. Once it is told to hurry, the data has to come at largeRate, and what is late is a timeout. It counts
// what comes over the network: a compressed body is not faster for being long.
type paced struct {
	from    io.Reader
	control *http.ResponseController
	until   time.Time // when all of it must be there

	hurried time.Time // since when it has to hurry; zero: it has not
	bytes   int64     // since then
}

func newPaced(w http.ResponseWriter, from io.Reader) *paced {
	return &paced{from: from, control: http.NewResponseController(w), until: time.Now().Add(readTimeout)}
}

func (p *paced) Read(b []byte) (int, error) {
	n, err := p.from.Read(b)
	if !p.hurried.IsZero() {
		p.bytes += int64(n)
		p.expect()
	}
	return n, err
}

// hurry begins, or begins anew for whoever was made to wait.
func (p *paced) hurry() {
	p.hurried, p.bytes = time.Now(), 0
	p.expect()
}

func (p *paced) expect() {
	next := p.hurried.Add(largeGrace + time.Duration(p.bytes)*time.Second/largeRate)
	if next.After(p.until) {
		next = p.until
	}
	_ = p.control.SetReadDeadline(next) // a test's writer has none
}

// relax is for when the body is there: net/http goes on reading, to see whether the client hangs up.
func (p *paced) relax() {
	if p.hurried.IsZero() {
		return
	}
	_ = p.control.SetReadDeadline(p.until)
}
