package intake

import (
	"container/list"
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"footfall/configs"
	"footfall/producer/admission"
	"footfall/producer/answer"
)

// Bodies and answers in memory share http.body_bytes, as places: large ones for what is larger than one event, two thirds of
// the bytes, and small ones. Whoever has a large one has to hurry, and nobody has many: else some slow senders would keep
// everybody's batches out. What is smaller than freeBody has no place: there is one of it per connection.
const (
	freeBody     = 4 << 10 // any event of two features, but for odd ones
	oddBody      = 8 << 10 // from here on a single event takes a processor for as long as a batch does
	freeAnswer   = 50      // events of a batch whose answer needs no place
	smallAnswer  = 300     // events of a batch whose answer has max_body's default size at the most
	clientsShare = 8       // one client has at most this part of the places
	largeWaiting = 1024    // how many may wait for a place, each with the data of one event at most
	largeQueue   = 32      // of those, of one client

	largePatience = 3 * time.Second // how long each of them waits
	largeGrace    = time.Second     // what a sender with a place may take besides its data
	answerGrace   = 2 * time.Second // what a reader of an answer may take besides its data
	largeRate     = 64 << 10        // bytes a second that data must come at, or be read at: the most within readTimeout
)

// newMill are places at the processors, for what takes them for long: decompressing and reading batches, and single events that are as
// large. One client has half of them, as has one key, so that common events and others' batches find one that is free; where nobody
// else is, it has all. Nobody has a place while it waits for the network or for Kafka.
func newMill(who *admission.SoleTenant) *places {
	most := runtime.GOMAXPROCS(0)
	mill := newPlaces(most, max(1, most/2), largeWaiting, largeWaiting, largePatience)
	mill.alone = func(client admission.Tenant) bool { return who.Is(client, time.Now()) }
	return mill
}

// yieldEvery is after how many events of a batch others have their turn: a fifth of a millisecond. A turn costs as much as an event.
const yieldEvery = 128

// newRooms are the places that a configuration has.
func newRooms(cfg configs.Producer) (small, large *places) {
	rooms := func(bytes, each int64) *places {
		most := int(max(1, bytes/each))
		return newPlaces(most, max(1, most/clientsShare), largeWaiting, largeQueue, largePatience)
	}
	http := cfg.HTTP
	return rooms(http.BodyBytes/3, http.MaxBody), rooms(http.BodyBytes/3*2, max(http.BatchBytes, http.MaxBody))
}

// places are given in the order in which they are asked for, but for clients that have as many as they may, and for those who share
// a key or a wide network and together have half of all. It is safe for concurrent use.
type places struct {
	most, perClient int           // taken
	line, perLine   int           // waiting, of all and of one client
	patience        time.Duration // of who waits

	alone func(admission.Tenant) bool // tells who may have all; nil: nobody

	mu      sync.Mutex
	taken   int
	by      map[admission.Tenant]int // and by all who share
	waiting *list.List               // of *waiter, the first in front
	inLine  map[admission.Tenant]int // likewise
}

// waiter wants a place. given is closed when it has one.
type waiter struct {
	client admission.Tenant
	given  chan struct{}
}

func newPlaces(most, perClient, line, perLine int, patience time.Duration) *places {
	return &places{
		most: most, perClient: perClient, line: line, perLine: perLine, patience: patience,
		by: map[admission.Tenant]int{}, waiting: list.New(), inLine: map[admission.Tenant]int{},
	}
}

// take waits for a place for a while, but not longer than ctx, and tells whether there was one. Whoever has it gives it back.
func (p *places) take(ctx context.Context, client admission.Tenant) bool {
	p.mu.Lock()
	if p.free(client) {
		p.grant(client)
		p.mu.Unlock()
		return true
	}
	if p.waiting.Len() >= p.line || p.inLine[client] >= p.perLine || !half(p.inLine, client, p.line) {
		p.mu.Unlock()
		return false
	}
	me := &waiter{client, make(chan struct{})}
	place := p.waiting.PushBack(me)
	more(p.inLine, client)
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

// give gives a place back, and on to whoever waits longest and may have it. There may be more to give on: for whoever is alone
// by now.
func (p *places) give(client admission.Tenant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	less(p.by, client)
	for e := p.waiting.Front(); e != nil && p.taken < p.most; {
		one, next := e, e.Next()
		if w := one.Value.(*waiter); p.free(w.client) {
			p.leave(one)
			p.grant(w.client)
			close(w.given)
		}
		e = next
	}
}

// room is what a request has of the places, at most one of each kind. Its owner defers leave before anything else, so that
// whatever happens, a panic too, they are given back.
type room struct {
	client admission.Tenant
	held   []*places
}

// take makes sure that there is a place, or says why there is none.
func (r *room) take(ctx context.Context, of *places) error {
	if slices.Contains(r.held, of) {
		return nil
	}
	if !of.take(ctx, r.client) {
		return &answer.Refusal{Reason: answer.Overloaded, Detail: "too many large requests, or answers that were not read; try again, or send smaller ones"}
	}
	r.held = append(r.held, of)
	return nil
}

// drop gives one place back, if it is there.
func (r *room) drop(of *places) {
	if i := slices.Index(r.held, of); i >= 0 {
		of.give(r.client)
		r.held = slices.Delete(r.held, i, i+1)
	}
}

// leave gives the places back, if there are any; it may be called again.
func (r *room) leave() {
	for _, of := range r.held {
		of.give(r.client)
	}
	r.held = nil
}

// leave, free and grant are for holders of mu.
func (p *places) leave(e *list.Element) {
	p.waiting.Remove(e)
	less(p.inLine, e.Value.(*waiter).client)
}

func (p *places) free(client admission.Tenant) bool {
	if p.taken >= p.most {
		return false
	}
	return p.by[client] < p.perClient && half(p.by, client, p.most) || p.alone != nil && p.alone(client)
}

func (p *places) grant(client admission.Tenant) {
	p.taken++
	more(p.by, client)
}

// half tells whether those who share with a client have less than half of the most together. Whoever shares with nobody may have all.
func half(counts map[admission.Tenant]int, client admission.Tenant, most int) bool {
	all := client.Account()
	return all == client || counts[all] < max(most/2, 1)
}

// more counts one for a client, and for all who share with it.
func more(counts map[admission.Tenant]int, client admission.Tenant) {
	counts[client]++
	if all := client.Account(); all != client {
		counts[all]++
	}
}

// less undoes more, and forgets who has none.
func less(counts map[admission.Tenant]int, client admission.Tenant) {
	counts[client]--
	if all := client.Account(); all != client {
		counts[all]--
		if counts[all] == 0 {
			delete(counts, all)
		}
	}
	if counts[client] == 0 {
		delete(counts, client)
	}
}

// inUse is how many places are taken.
func (p *places) inUse() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// scarce tells whether more than half of the places are taken.
func (p *places) scarce() bool { return 2*p.inUse() > p.most }
