package admission

import (
	"container/list"
	"context"
	"hash/maphash"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"footfall/internal/fair"
	"footfall/producer/answer"
)

// Tenant is who competes with others for connections, memory, processors and Kafka: a client's network and, if it has a write
// key, the key's grant.
type Tenant struct {
	Grant   string // empty where access.open lets anyone write
	Page    bool   // the key is part of a page
	Network netip.Prefix
}

// Account is the tenant that a fair share is counted for. All holders of one key have one account, wherever they are. Without
// a key each network has its own, except that all /64 of an IPv6 /48 have one: a single customer is often given a whole /48.
func (t Tenant) Account() Tenant {
	if t.Grant != "" {
		return Tenant{Grant: t.Grant}
	}
	return Tenant{Network: fair.Customer(t.Network.Addr())}
}

// soleAfter is how long no other account may have sent anything before a tenant counts as the only one.
const soleAfter = time.Second

// SoleTenant knows whether only one tenant is sending. As long as that is so, its requests write nothing to shared memory.
// It is safe for concurrent use.
type SoleTenant struct {
	seed    maphash.Seed
	last    atomic.Uint64 // hash of the account of the latest request
	changed atomic.Int64  // when the account last changed from one request to the next, in Unix nanoseconds
}

// NewSoleTenant knows of no request yet.
func NewSoleTenant() *SoleTenant { return &SoleTenant{seed: maphash.MakeSeed()} }

// Note records a request of a tenant.
func (s *SoleTenant) Note(of Tenant, now time.Time) {
	if hash := s.hash(of); s.last.Load() != hash {
		s.changed.Store(now.UnixNano()) // before last, so that Is never returns true in between
		s.last.Store(hash)
	}
}

// Is tells whether nobody but this tenant's account has sent a request for soleAfter.
func (s *SoleTenant) Is(of Tenant, now time.Time) bool {
	return s.last.Load() == s.hash(of) && now.UnixNano()-s.changed.Load() >= int64(soleAfter)
}

func (s *SoleTenant) hash(of Tenant) uint64 {
	if of.Grant != "" {
		return maphash.String(s.seed, of.Grant)
	}
	return maphash.Comparable(s.seed, of.Account().Network)
}

const (
	clientShare = 8               // one client holds at most this part of the body slots
	maxWaiting  = 1024            // how many requests may wait for a slot, each with the data of one event at most
	maxWait     = 3 * time.Second // how long each of them waits
)

// NewBodySlots divides the memory for bodies and answers (http.body_bytes) into slots. One third is for small slots, of maxEvent
// bytes: what is larger than most events. Two thirds are for large slots, of maxBatch bytes: what is larger than one event may
// be.
func NewBodySlots(bodyBytes, maxEvent, maxBatch int64) (small, large *Semaphore) {
	slots := func(bytes, each int64) *Semaphore {
		n := int(max(1, bytes/each))
		return NewSemaphore(n-n/3, n/3, max(1, n/clientShare), maxWaiting, maxWait)
	}
	return slots(bodyBytes/3, maxEvent), slots(bodyBytes/3*2, max(maxBatch, maxEvent))
}

// NewWorkerSlots bounds how many requests do long work on a processor: decompressing and parsing batches, and single events
// that are as large. There is a slot for each processor, and half of them are in reserve, so that small events and other tenants'
// batches find a free processor. While an account is the only tenant it may hold all.
func NewWorkerSlots(sole *SoleTenant) *Semaphore {
	n := runtime.GOMAXPROCS(0)
	workers := NewSemaphore(n-n/2, n/2, n, maxWaiting, maxWait)
	workers.sole = func(client Tenant) bool { return sole.Is(client, time.Now()) }
	return workers
}

// Semaphore is a counting semaphore whose slots accounts share (fair.Shares), and the places of its queue as well. Slots are given in
// the order of asking, except that those who may have none now are passed over. It is safe for concurrent use.
type Semaphore struct {
	perClient int           // how many one client may hold
	patience  time.Duration // how long one waits

	sole func(Tenant) bool // tells who may hold all slots; nil: nobody

	mu      sync.Mutex
	slots   *fair.Shares[Tenant]
	held    map[Tenant]int // slots, by client
	queue   *fair.Places[Tenant]
	waiting *list.List // of *waiter, in the order of asking
}

// waiter wants a slot. given is closed when it has one.
type waiter struct {
	client Tenant
	given  chan struct{}
}

// NewSemaphore has so many slots and so many in reserve, of which one client may hold perClient. At most queue callers wait for one, each
// for patience. Who waits with perClient slots is passed over, so it holds up no other.
func NewSemaphore(slots, reserve, perClient, queue int, patience time.Duration) *Semaphore {
	return &Semaphore{
		perClient: perClient, patience: patience, slots: fair.NewShares[Tenant](slots, reserve), held: map[Tenant]int{},
		queue: fair.NewPlaces[Tenant](queue), waiting: list.New(),
	}
}

// Acquire takes a slot and returns true. If there is none it waits, but not longer than ctx, and returns false if it got none.
// After true the caller calls Release.
func (s *Semaphore) Acquire(ctx context.Context, client Tenant) bool {
	s.mu.Lock()
	if s.takeSlot(client) {
		s.mu.Unlock()
		return true
	}
	if !s.queue.Take(client.Account(), 1) {
		s.mu.Unlock()
		return false
	}
	me := &waiter{client, make(chan struct{})}
	place := s.waiting.PushBack(me)
	s.mu.Unlock()

	timeout := time.NewTimer(s.patience)
	defer timeout.Stop()
	select {
	case <-me.given:
		return true
	case <-timeout.C:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-me.given: // between the timeout and the lock
		return true
	default:
		s.dequeue(place)
		return false
	}
}

// Release gives a slot back. The waiters that may have a slot get those that are free, in the order of asking. There can be
// several: a tenant may have become the only one.
func (s *Semaphore) Release(client Tenant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots.Release(s.slots.Of(client.Account()), 1)
	if s.held[client]--; s.held[client] == 0 {
		delete(s.held, client)
	}
	for e := s.waiting.Front(); e != nil && s.slots.Used() < s.slots.Total(); {
		place, next := e, e.Next()
		if w := place.Value.(*waiter); s.takeSlot(w.client) {
			s.dequeue(place)
			close(w.given)
		}
		e = next
	}
}

// InUse is how many slots are held.
func (s *Semaphore) InUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots.Used()
}

// Waiting is how many callers wait for a slot.
func (s *Semaphore) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting.Len()
}

// Scarce tells whether more than half of the slots are held.
func (s *Semaphore) Scarce() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return 2*s.slots.Used() > s.slots.Total()
}

// dequeue takes a waiter out of the queue. The caller holds mu.
func (s *Semaphore) dequeue(e *list.Element) {
	s.waiting.Remove(e)
	s.queue.Release(e.Value.(*waiter).client.Account(), 1)
}

// takeSlot takes a slot for a client if it and its account may have one. Who is alone may have those in reserve. The caller holds mu.
func (s *Semaphore) takeSlot(client Tenant) bool {
	if s.held[client] >= s.perClient {
		return false
	}
	account := s.slots.Of(client.Account())
	defer s.slots.Release(account, 0)
	if !s.slots.Take(account, 1) && (s.sole == nil || !s.sole(client) || !s.slots.TakeReserve(account)) {
		return false
	}
	s.held[client]++
	return true
}

// Slots are what one request holds, at most one slot of each semaphore. Defer ReleaseAll before the first Acquire, so that the
// slots are given back whatever happens, a panic too. It is not safe for concurrent use.
type Slots struct {
	Tenant Tenant
	held   []*Semaphore
}

// Acquire makes sure that the request holds a slot, or returns an *answer.Refusal.
func (s *Slots) Acquire(ctx context.Context, of *Semaphore) error {
	if slices.Contains(s.held, of) {
		return nil
	}
	if !of.Acquire(ctx, s.Tenant) {
		return &answer.Refusal{
			Reason: answer.Overloaded, Detail: "too many large requests, or answers that were not read; try again, or send smaller ones",
		}
	}
	s.held = append(s.held, of)
	return nil
}

// Release gives one slot back, if the request holds it.
func (s *Slots) Release(of *Semaphore) {
	if i := slices.Index(s.held, of); i >= 0 {
		of.Release(s.Tenant)
		s.held = slices.Delete(s.held, i, i+1)
	}
}

// ReleaseAll gives all slots back. It may be called again.
func (s *Slots) ReleaseAll() {
	for _, of := range s.held {
		of.Release(s.Tenant)
	}
	s.held = nil
}
