package admission

import (
	"math"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"footfall/configs"
	"footfall/internal/fair"
	"footfall/models"
	"footfall/producer/answer"
)

// rememberedRates is how many clients, and how many sites, a rate is kept for. One that is evicted starts with a full bucket,
// which only allows more. So memory stays bounded, whoever sends.
const rememberedRates = 1 << 16

// Limits are the rates of clients and sites, and how fast new keys and new visitors may appear. It is safe for concurrent use.
type Limits struct {
	clients  *buckets[netip.Prefix]
	pages    *buckets[netip.Prefix] // clients with a key that is part of a page
	sites    *buckets[string]
	keys     *newKeys
	visitors *newVisitors
}

// NewLimits has what is configured; 0 is no limit.
func NewLimits(cfg configs.Limits) *Limits {
	return &Limits{
		clients:  newBuckets[netip.Prefix](cfg.ClientPerSecond, cfg.ClientBurst),
		pages:    newBuckets[netip.Prefix](cfg.PageClientPerSecond, cfg.PageClientBurst),
		sites:    newBuckets[string](cfg.SitePerSecond, cfg.SiteBurst),
		keys:     limitNewKeys(cfg.NewKeysPerMinute, cfg.NewReferrersPerMinute),
		visitors: limitNewVisitors(cfg.NewVisitorsPerMinute),
	}
}

// Client charges a client for one event. Like all methods of Limits it returns an *answer.Refusal if that is one too many.
func (l *Limits) Client(ip netip.Addr, now time.Time) error {
	if l.clients == nil {
		return nil
	}
	return limited(l.clients.charge(sharesOf(ip), 1, 1, now), "too many events from your address")
}

// PageClient is Client for requests with a key that lists origins, and so is part of a page.
func (l *Limits) PageClient(ip netip.Addr, now time.Time) error {
	return limited(l.pages.charge(sharesOf(ip), 1, 1, now), "too many events from your address, for a key that is part of a page")
}

// Batch charges a client for n more events, once the body is read and they are counted. Client let the request in before, so
// the batch may take the balance below 0. A batch that was let in at the same time sees the negative balance and gets 429.
// page says that its key lists origins.
func (l *Limits) Batch(ip netip.Addr, n int, page bool, now time.Time) error {
	wait := l.clients.charge(sharesOf(ip), n, 0, now)
	if wait == 0 && page {
		wait = l.pages.charge(sharesOf(ip), n, 0, now)
	}
	return limited(wait, "too many events from your address")
}

// sharesOf are the buckets that an address is charged to.
func sharesOf(ip netip.Addr) (all []share[netip.Prefix]) {
	for _, n := range fair.Networks(ip) {
		all = append(all, share[netip.Prefix]{n.Prefix, float64(n.Times)})
	}
	return all
}

// Event charges the site of a visit, or for a click the grant that it was sent under, and checks whether the event's key is new.
func (l *Limits) Event(grant string, event models.Event, now time.Time) error {
	if l.sites != nil {
		name := "links of " + grant
		if v, ok := event.(*models.Visit); ok {
			name = "site " + v.SiteID
		}
		if err := limited(l.sites.take(name, now), "too many events for this site"); err != nil {
			return err
		}
	}
	return l.keys.check(grant, event, now)
}

// NewVisitors returns an error for each event whose visitor is new although its site or link had enough new visitors in this
// minute. It returns nil if there is none. grant is the one of the request's key.
func (l *Limits) NewVisitors(grant string, events []models.Event, now time.Time) []error {
	return l.visitors.check(grant, events, now)
}

// Referrer checks the referrer of a redirect's click.
func (l *Limits) Referrer(c *models.Click, now time.Time) error { return l.keys.checkReferrer(c, now) }

func limited(wait time.Duration, detail string) error {
	if wait <= 0 {
		return nil
	}
	return &answer.Refusal{Reason: answer.RateLimited, Detail: detail, After: wait}
}

// buckets are token buckets by name. A nil one limits nobody.
type buckets[K comparable] struct {
	perSecond, burst float64

	mu  sync.Mutex
	all *simplelru.LRU[K, *bucket]
}

type bucket struct {
	tokens float64
	times  float64 // how many times the rate and the burst of a common one
	at     time.Time
}

// share names a bucket that is charged, and how many times the rate and the burst of a common one it has.
type share[K comparable] struct {
	name  K
	times float64
}

// newBuckets returns nil, which limits nobody, for a rate of 0.
func newBuckets[K comparable](perSecond float64, burst int) *buckets[K] {
	if perSecond <= 0 {
		return nil
	}
	all, err := simplelru.NewLRU[K, *bucket](rememberedRates, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &buckets[K]{perSecond: perSecond, burst: float64(max(burst, 1)), all: all}
}

// take takes one token and returns 0, or takes none and returns when there will be one.
func (b *buckets[K]) take(name K, now time.Time) time.Duration {
	return b.charge([]share[K]{{name, 1}}, 1, 1, now)
}

// charge takes n tokens from each bucket and returns 0 if all of them have at least as many as least says. Otherwise it takes
// none and returns when all of them have a token. With a least of 0 the balance may become negative. The rate holds all the
// same, because the debt is paid off before the next token is given.
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

// untilOne is how long it takes until a bucket has a token.
func (b *buckets[K]) untilOne(one *bucket) time.Duration {
	return max(time.Duration(math.Ceil((1-one.tokens)/(b.perSecond*one.times)*float64(time.Second))), 1)
}

// filled is a bucket with the tokens that it got until now. The caller holds mu.
func (b *buckets[K]) filled(s share[K], now time.Time) *bucket {
	one, ok := b.all.Get(s.name)
	if !ok {
		one = &bucket{tokens: b.burst * s.times, times: s.times, at: now}
		b.all.Add(s.name, one)
	}
	if passed := now.Sub(one.at); passed > 0 { // two requests may get here in the other order than they read the clock
		one.tokens = math.Min(b.burst*s.times, one.tokens+passed.Seconds()*b.perSecond*s.times)
		one.at = now
	}
	return one
}
