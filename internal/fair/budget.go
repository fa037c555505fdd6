package fair

import (
	"hash/maphash"
	"math"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Remembered is how many names a Budget has a bucket for. One that is evicted starts with a full bucket, which only allows more. So
// memory stays bounded, whoever sends.
const Remembered = 1 << 16

// Budget is token buckets by the hash of a name. A nil one limits nobody. It is safe for concurrent use.
type Budget struct {
	perSecond, burst float64

	mu  sync.Mutex
	all *simplelru.LRU[uint64, *bucket]
}

type bucket struct {
	tokens float64
	at     time.Time
}

// Charge names a bucket that is charged, by a hash, and how many times the rate and the burst of a common one it has.
type Charge struct {
	Name  uint64
	Times float64
}

// Charges are those of an address, for something with a name: one for each of its networks.
func Charges(seed maphash.Seed, ip netip.Addr, name string) (all []Charge) {
	type of struct {
		network netip.Prefix
		name    string
	}
	for _, n := range Networks(ip) {
		all = append(all, Charge{Name: maphash.Comparable(seed, of{n.Prefix, name}), Times: float64(n.Times)})
	}
	return all
}

// NewBudget returns nil, which limits nobody, for a rate of 0.
func NewBudget(perSecond float64, burst int) *Budget {
	if perSecond <= 0 {
		return nil
	}
	all, err := simplelru.NewLRU[uint64, *bucket](Remembered, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &Budget{perSecond: perSecond, burst: float64(max(burst, 1)), all: all}
}

// PerMinute is the rate and the burst of a budget of which a minute's tokens may be taken at once.
func PerMinute(n int) (perSecond float64, burst int) { return float64(n) / 60, n }

// Take takes one token from each bucket and returns 0, or takes none and returns when all of them have one.
func (b *Budget) Take(now time.Time, from ...Charge) time.Duration { return b.Charge(now, 1, 1, from) }

// Charge takes n tokens from each bucket and returns 0 if all of them have at least as many as least says. Otherwise it takes
// none and returns when all of them have a token. With a least of 0 the balance may become negative. The rate holds all the
// same, because the debt is paid off before the next token is given.
func (b *Budget) Charge(now time.Time, n int, least float64, from []Charge) (wait time.Duration) {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range from {
		if one := b.filled(s, now); one.tokens < least {
			until := math.Ceil((1 - one.tokens) / (b.perSecond * s.Times) * float64(time.Second))
			wait = max(wait, time.Duration(until), 1)
		}
	}
	if wait > 0 {
		return wait
	}
	for _, s := range from {
		b.filled(s, now).tokens -= float64(n)
	}
	return 0
}

// filled is a bucket with the tokens that it got until now. The caller holds mu.
func (b *Budget) filled(s Charge, now time.Time) *bucket {
	one, ok := b.all.Get(s.Name)
	if !ok {
		one = &bucket{tokens: b.burst * s.Times, at: now}
		b.all.Add(s.Name, one)
	}
	if passed := now.Sub(one.at); passed > 0 { // two requests may get here in the other order than they read the clock
		one.tokens = math.Min(b.burst*s.Times, one.tokens+passed.Seconds()*b.perSecond*s.Times)
		one.at = now
	}
	return one
}

// ownPart is the part of a Shared budget that each client has for itself, beside what is common.
const ownPart = 200

// Shared is a Budget for what anybody can send under one name, as with the key of a page. Each client has a small budget of its own, and
// takes from the common one what goes beyond it. So nobody can use up what a client with few wants needs, and a client with many, such as
// the address of a carrier, has most of the common one. A nil Shared limits nobody. It is safe for concurrent use.
type Shared struct{ common, own *Budget }

// NewShared returns nil, which limits nobody, for a rate of 0.
func NewShared(perSecond float64, burst int) *Shared {
	if perSecond <= 0 {
		return nil
	}
	return &Shared{NewBudget(perSecond, burst), NewBudget(perSecond/ownPart, burst/ownPart)}
}

// Take takes a token from each of a client's own buckets, or else from the common one of a name, and returns 0. Or it takes none and
// returns when the common one has a token. Who has no buckets of its own takes from the common one.
func (s *Shared) Take(now time.Time, own []Charge, name uint64) time.Duration {
	if s == nil || len(own) > 0 && s.own.Take(now, own...) == 0 {
		return 0
	}
	return s.common.Take(now, Charge{Name: name, Times: 1})
}
