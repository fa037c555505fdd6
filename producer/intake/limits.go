package intake

import (
	"math"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"footfall/configs"
	"footfall/models"
)

// remembered is how many clients, and how many sites, a rate is kept for. Who is forgotten begins anew, which is only
// ever too kind; the memory stays bounded, whoever comes.
const remembered = 1 << 16

// limits are the rates of clients and sites, and how fast new keys may appear. It is safe for concurrent use.
type limits struct {
	clients *buckets[netip.Prefix]
	sites   *buckets[string]
	keys    *newKeys
}

func newLimits(cfg configs.Limits) *limits {
	return &limits{
		clients: newBuckets[netip.Prefix](cfg.ClientPerSecond, cfg.ClientBurst),
		sites:   newBuckets[string](cfg.SitePerSecond, cfg.SiteBurst),
		keys:    watchNewKeys(cfg.NewKeysPerMinute),
	}
}

// client charges whoever sent the request for an event.
func (l *limits) client(ip netip.Addr, now time.Time) error {
	return limited(l.clients.take(networkOf(ip), now), "too many events from your address")
}

// clientOwes charges whoever was let in for n more events, which are counted only when the body is read. One that is in debt
// by then was let in at the same time as another batch, and has to come again.
func (l *limits) clientOwes(ip netip.Addr, n int, now time.Time) error {
	return limited(l.clients.owe(networkOf(ip), n, now), "too many events from your address")
}

// networkOf is whom an address belongs to.
func networkOf(ip netip.Addr) netip.Prefix {
	bits := 32
	if ip.Is6() {
		bits = 64 // what one household or one server is given; the rest of the address is theirs to choose
	}
	network, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // no address, such as on a unix socket: all of them are one client
	}
	return network
}

// event charges the site of an event, or for a click the owner of the key, and looks whether its key is new.
func (l *limits) event(owner string, event models.Event, now time.Time) error {
	if l.sites != nil {
		name := "links of " + owner
		if v, ok := event.(*models.Visit); ok {
			name = "site " + v.SiteID
		}
		if err := limited(l.sites.take(name, now), "too many events for this site"); err != nil {
			return err
		}
	}
	return l.keys.note(owner, event, now)
}

func limited(wait time.Duration, detail string) error {
	if wait <= 0 {
		return nil
	}
	return &refusal{reason: rateLimited, detail: detail, after: wait}
}

// buckets are token buckets by name.
type buckets[K comparable] struct {
	perSecond, burst float64

	mu  sync.Mutex
	all *simplelru.LRU[K, *bucket]
}

type bucket struct {
	tokens float64
	at     time.Time
}

// newBuckets returns nil, which limits nobody, for a rate of 0.
func newBuckets[K comparable](perSecond float64, burst int) *buckets[K] {
	if perSecond <= 0 {
		return nil
	}
	all, err := simplelru.NewLRU[K, *bucket](remembered, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &buckets[K]{perSecond: perSecond, burst: float64(max(burst, 1)), all: all}
}

// take charges a token and returns 0, or returns how long to wait until it would.
func (b *buckets[K]) take(name K, now time.Time) time.Duration { return b.charge(name, 1, 1, now) }

// owe charges n tokens, whether they are there or not, and returns 0: a debt is paid off before the next one gets through. So
// whoever was let in may send a batch larger than the burst, and the rate holds all the same. Where there is a debt already it
// charges nothing and returns how long to wait for the next token: else all who were let in before could add to it.
func (b *buckets[K]) owe(name K, n int, now time.Time) time.Duration {
	return b.charge(name, n, 0, now)
}

// charge takes n tokens where there are at least so many, and else nothing.
func (b *buckets[K]) charge(name K, n int, least float64, now time.Time) time.Duration {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.filled(name, now)
	if one.tokens < least {
		return b.untilOne(one)
	}
	one.tokens -= float64(n)
	return 0
}

// untilOne is when a bucket will have a token.
func (b *buckets[K]) untilOne(one *bucket) time.Duration {
	return max(time.Duration(math.Ceil((1-one.tokens)/b.perSecond*float64(time.Second))), 1)
}

// filled is a bucket with what has come into it until now. The caller holds mu.
func (b *buckets[K]) filled(name K, now time.Time) *bucket {
	one, ok := b.all.Get(name)
	if !ok {
		one = &bucket{tokens: b.burst, at: now}
		b.all.Add(name, one)
	}
	if passed := now.Sub(one.at); passed > 0 { // clocks of two requests may come in the other order
		one.tokens = math.Min(b.burst, one.tokens+passed.Seconds()*b.perSecond)
		one.at = now
	}
	return one
}
