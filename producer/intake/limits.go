package intake

import (
	"math"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"footfall/configs"
	"footfall/models"
	"footfall/producer/admission"
	"footfall/producer/answer"
)

// remembered is how many clients, and how many sites, a rate is kept for. Who is forgotten begins anew, which is only
// ever too kind; the memory stays bounded, whoever comes.
const remembered = 1 << 16

// limits are the rates of clients and sites, and how fast new keys and visitors may appear. It is safe for concurrent use.
type limits struct {
	clients  *buckets[netip.Prefix]
	pages    *buckets[netip.Prefix] // clients with a key that is part of a page
	sites    *buckets[string]
	keys     *newKeys
	visitors *newVisitors
}

func newLimits(cfg configs.Limits) *limits {
	return &limits{
		clients:  newBuckets[netip.Prefix](cfg.ClientPerSecond, cfg.ClientBurst),
		pages:    newBuckets[netip.Prefix](cfg.PageClientPerSecond, cfg.PageClientBurst),
		sites:    newBuckets[string](cfg.SitePerSecond, cfg.SiteBurst),
		keys:     watchNewKeys(cfg.NewKeysPerMinute, cfg.NewReferrersPerMinute),
		visitors: watchNewVisitors(cfg.NewVisitorsPerMinute),
	}
}

// client charges whoever sent the request for an event.
func (l *limits) client(ip netip.Addr, now time.Time) error {
	if l.clients == nil {
		return nil
	}
	return limited(l.clients.charge(sharesOf(ip), 1, 1, now), "too many events from your address")
}

// page is client for requests with a key that lists origins.
func (l *limits) page(ip netip.Addr, now time.Time) error {
	return limited(l.pages.charge(sharesOf(ip), 1, 1, now), "too many events from your address, for a key that is part of a page")
}

// clientOwes charges whoever was let in for n more events, which are counted only when the body is read. One that is in debt
// by then was let in at the same time as another batch, and has to come again. page says that its key lists origins.
func (l *limits) clientOwes(ip netip.Addr, n int, page bool, now time.Time) error {
	wait := l.clients.charge(sharesOf(ip), n, 0, now)
	if wait == 0 && page {
		wait = l.pages.charge(sharesOf(ip), n, 0, now)
	}
	return limited(wait, "too many events from your address")
}

// sharesOf are who is charged for an address: what one household or one server is given, and what it may have been given of. A
// tunnel or a rented server often comes with a /56 or a /48, and each of its /64 would be another client.
func sharesOf(ip netip.Addr) []share[netip.Prefix] {
	all := []share[netip.Prefix]{{admission.NetworkOf(ip), 1}}
	if ip.Is6() {
		wide, _ := ip.Prefix(56) // the bits are fewer than it has
		wider, _ := ip.Prefix(48)
		all = append(all, share[netip.Prefix]{wide, 4}, share[netip.Prefix]{wider, 16})
	}
	return all
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
	return &answer.Refusal{Reason: answer.RateLimited, Detail: detail, After: wait}
}

// buckets are token buckets by name.
type buckets[K comparable] struct {
	perSecond, burst float64

	mu  sync.Mutex
	all *simplelru.LRU[K, *bucket]
}

type bucket struct {
	tokens float64
	times  float64 // of the rate and the burst
	at     time.Time
}

// share is a bucket by name, and how many times the rate and the burst of one it has.
type share[K comparable] struct {
	name  K
	times float64
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
func (b *buckets[K]) take(name K, now time.Time) time.Duration {
	return b.charge([]share[K]{{name, 1}}, 1, 1, now)
}

// owe charges n tokens, whether they are there or not, and returns 0: a debt is paid off before the next one gets through. So
// whoever was let in may send a batch larger than the burst, and the rate holds all the same. Where there is a debt already it
// charges nothing and returns how long to wait for the next token: else all who were let in before could add to it.
func (b *buckets[K]) owe(name K, n int, now time.Time) time.Duration {
	return b.charge([]share[K]{{name, 1}}, n, 0, now)
}

// charge takes n tokens of each of these where all have at least so many, and else nothing.
func (b *buckets[K]) charge(of []share[K], n int, least float64, now time.Time) (wait time.Duration) {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range of {
		if one := b.filled(s, now); one.tokens < least {
			wait = max(wait, b.untilOne(one))
		}
	}
	if wait > 0 {
		return wait
	}
	for _, s := range of {
		b.filled(s, now).tokens -= float64(n)
	}
	return 0
}

// untilOne is when a bucket will have a token.
func (b *buckets[K]) untilOne(one *bucket) time.Duration {
	return max(time.Duration(math.Ceil((1-one.tokens)/(b.perSecond*one.times)*float64(time.Second))), 1)
}

// filled is a bucket with what has come into it until now. The caller holds mu.
func (b *buckets[K]) filled(s share[K], now time.Time) *bucket {
	one, ok := b.all.Get(s.name)
	if !ok {
		one = &bucket{tokens: b.burst * s.times, times: s.times, at: now}
		b.all.Add(s.name, one)
	}
	if passed := now.Sub(one.at); passed > 0 { // clocks of two requests may come in the other order
		one.tokens = math.Min(b.burst*s.times, one.tokens+passed.Seconds()*b.perSecond*s.times)
		one.at = now
	}
	return one
}
