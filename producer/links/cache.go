package links

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"golang.org/x/sync/singleflight"

	"footfall/internal/fair"
)

const (
	// foundTTL is how long a target is cached. The producer never changes one, but an operator may.
	foundTTL = time.Minute

	// linkBytes is what a link of links.cache may take on average: a few have long targets, and somebody may create many that do.
	linkBytes = 256

	// lookupTimeout bounds how long a redirect waits for the store: its visitor waits too.
	lookupTimeout = 3 * time.Second

	// mostAsking and mostCreating bound the concurrent requests to the store, which clients share. Anyone can ask for ever new names
	// that do not exist. Creating has a bound of its own, so that it does not wait for those who guess names.
	mostAsking, mostCreating = 256, 64
)

// errBusy means that there are as many requests to the store as there may be.
var errBusy = errors.New("too many requests to the store of links")

// cache keeps targets of links in memory. Concurrent requests for the same link ask the store once.
type cache struct {
	o       *Options
	found   *expirable.LRU[string, string]
	bytes   atomic.Int64                     // of found
	missing *expirable.LRU[string, struct{}] // apart, so that guessed names do not evict links
	asking  singleflight.Group
	slots   *fair.Places[netip.Prefix] // one for each request to the store, by customers' networks
	keeping sync.Mutex
}

func newCache(o Options) *cache {
	c := &cache{o: &o, missing: expirable.NewLRU[string, struct{}](o.Cache, nil, o.NegativeTTL), slots: fair.NewPlaces[netip.Prefix](mostAsking)}
	c.found = expirable.NewLRU(o.Cache, func(short, long string) { c.bytes.Add(-int64(len(short) + len(long))) }, foundTTL)
	return c
}

// keep caches a target.
func (c *cache) keep(short, long string) {
	c.keeping.Lock()
	defer c.keeping.Unlock()
	c.found.Remove(short) // to replace it would not give its bytes back
	c.found.Add(short, long)
	for c.bytes.Add(int64(len(short) + len(long))); c.bytes.Load() > int64(c.o.Cache)*linkBytes; {
		c.found.RemoveOldest()
	}
}

// lookup is the result of asking the store for a link.
type lookup struct {
	long  string
	found bool
}

// target is Store.Target for a client, cached. Errors are not cached.
func (c *cache) target(ctx context.Context, from netip.Addr, short string) (string, bool, error) {
	if a, ok := c.known(short); ok {
		return a.long, a.found, nil
	}
	for asked := false; ; {
		result := c.asking.DoChan(short, func() (any, error) {
			asked = true
			return c.ask(ctx, fair.Customer(from), short)
		})
		select {
		case r := <-result:
			if errors.Is(r.Err, errBusy) && !asked {
				continue // another one had no place
			}
			a, _ := r.Val.(lookup)
			return a.long, a.found, r.Err
		case <-ctx.Done():
			return "", false, ctx.Err()
		}
	}
}

func (c *cache) known(short string) (lookup, bool) {
	if long, ok := c.found.Get(short); ok {
		return lookup{long, true}, true
	}
	_, ok := c.missing.Get(short)
	return lookup{}, ok
}

func (c *cache) ask(ctx context.Context, from netip.Prefix, short string) (said lookup, err error) {
	defer c.o.survive("the store of links", &err) // singleflight would panic again, in a goroutine that nobody recovers
	if a, ok := c.known(short); ok {              // a request that ended just before has cached it
		return a, nil
	}
	if !c.slots.Take(from, 1) {
		return lookup{}, errBusy
	}
	defer c.slots.Release(from, 1)
	// Not the request's context: others wait for the same answer when its client hangs up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
	defer cancel()
	long, found, err := c.o.Store.Target(ctx, short)
	if err != nil {
		return lookup{}, err
	}
	if found {
		c.keep(short, long)
	} else {
		c.missing.Add(short, struct{}{})
	}
	return lookup{long, found}, nil
}

// put caches a link that was just created. A lookup that began before may add it to missing afterwards. That does no harm,
// because found is asked first.
func (c *cache) put(short, long string) {
	c.keep(short, long)
	c.missing.Remove(short)
}
