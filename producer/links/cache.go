package links

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"golang.org/x/sync/singleflight"
)

const (
	// foundTTL is how long a target is believed. The door never changes one, but an operator may.
	foundTTL = time.Minute

	// lookupTimeout bounds how long a redirect waits for the store: its visitor waits too.
	lookupTimeout = 3 * time.Second

	// mostAsking and mostCreating bound the requests to the store at once. Anyone can ask for names that are not there, each
	// another; and creating does not wait for those who guess.
	mostAsking, mostCreating = 256, 64
)

// errBusy is for whoever comes while the store has enough to do.
var errBusy = errors.New("too many requests to the store of links")

// cache answers from memory where it can. Of many who ask for the same link at once one asks the store.
type cache struct {
	o       *Options
	found   *expirable.LRU[string, string]
	missing *expirable.LRU[string, struct{}] // apart, so that guessing names does not push out links
	asking  singleflight.Group
	places  chan struct{} // one for each request to the store
}

func newCache(o Options) *cache {
	return &cache{
		o:       &o,
		found:   expirable.NewLRU[string, string](o.Cache, nil, foundTTL),
		missing: expirable.NewLRU[string, struct{}](o.Cache, nil, o.NegativeTTL),
		places:  make(chan struct{}, mostAsking),
	}
}

// lookup is the result of asking the store for a link.
type lookup struct {
	long  string
	found bool
}

// target is what Store.Target says, or said a moment ago. Errors are not remembered.
func (c *cache) target(ctx context.Context, short string) (string, bool, error) {
	if a, ok := c.known(short); ok {
		return a.long, a.found, nil
	}
	result := c.asking.DoChan(short, func() (any, error) { return c.ask(ctx, short) })
	select {
	case r := <-result:
		if r.Err != nil {
			return "", false, r.Err
		}
		a := r.Val.(lookup)
		return a.long, a.found, nil
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
}

func (c *cache) known(short string) (lookup, bool) {
	if long, ok := c.found.Get(short); ok {
		return lookup{long, true}, true
	}
	_, ok := c.missing.Get(short)
	return lookup{}, ok
}

func (c *cache) ask(ctx context.Context, short string) (said lookup, err error) {
	defer c.o.survive("the store of links", &err) // singleflight would panic again, in a goroutine of its own
	if a, ok := c.known(short); ok {              // who asked before was answered a moment ago
		return a, nil
	}
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	default:
		return lookup{}, errBusy
	}
	// Not the request's own context: others wait for the same answer when its client hangs up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
	defer cancel()
	long, found, err := c.o.Store.Target(ctx, short)
	if err != nil {
		return lookup{}, err
	}
	if found {
		c.found.Add(short, long)
	} else {
		c.missing.Add(short, struct{}{})
	}
	return lookup{long, found}, nil
}

// put remembers a link that was just created. found is asked before missing, so it does not matter if somebody who looked
// a moment too early says afterwards that it is missing.
func (c *cache) put(short, long string) {
	c.found.Add(short, long)
	c.missing.Remove(short)
}
