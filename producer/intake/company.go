package intake

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// aloneAfter is how long nobody else has sent anything when a tenant is alone.
const aloneAfter = time.Second

// company knows whether one tenant is alone at the door. While one is, its requests change nothing here. It is safe for
// concurrent use.
type company struct {
	seed    maphash.Seed
	last    atomic.Uint64 // whose the last request was, as a hash
	changed atomic.Int64  // when a request was last another's than the one before, in Unix nanoseconds
}

func newCompany() *company { return &company{seed: maphash.MakeSeed()} }

// note is told of a request.
func (c *company) note(of tenant, now time.Time) {
	if who := c.who(of); c.last.Load() != who {
		c.changed.Store(now.UnixNano()) // first, so that nobody is alone in between
		c.last.Store(who)
	}
}

// alone tells whether a tenant is.
func (c *company) alone(of tenant, now time.Time) bool {
	return c.last.Load() == c.who(of) && now.UnixNano()-c.changed.Load() >= int64(aloneAfter)
}

// who is the hash of those whom a tenant shares with.
func (c *company) who(of tenant) uint64 {
	if of.grant != "" {
		return maphash.String(c.seed, of.grant)
	}
	ip := of.shares().network.Addr().As16()
	return maphash.Bytes(c.seed, ip[:])
}
