package cassandra

import (
	"fmt"
	"hash/maphash"
	"strconv"
	"sync"

	"footfall/models"
)

// class is a subset of all values: those whose hash modulo modulus is remainder.
type class struct{ remainder, modulus uint64 }

// hashSeed is the same for all passes.
var hashSeed = maphash.MakeSeed()

func has[K comparable](c class, key K) bool {
	return maphash.Comparable(hashSeed, key)%c.modulus == c.remainder
}

// classed collects values under those keys that are in its class. When they weigh more than most, it halves its class, and lists the other
// half in left for a later pass.
type classed[K comparable, V any] struct {
	class
	weight func(V) int // 0 for the zero value
	most   int
	size   int
	found  map[K]V
	left   []class
}

func newClassed[K comparable, V any](c class, most int, weight func(V) int) *classed[K, V] {
	return &classed[K, V]{class: c, weight: weight, most: most, found: map[K]V{}}
}

// put changes the value of a key, if the key is in the class.
func (c *classed[K, V]) put(key K, change func(V) V) {
	if !has(c.class, key) {
		return
	}
	before := c.found[key]
	after := change(before)
	c.found[key] = after
	for c.size += c.weight(after) - c.weight(before); c.size > c.most && len(c.found) > 1; {
		c.halve()
	}
}

func (c *classed[K, V]) halve() {
	c.left = append(c.left, class{c.remainder + c.modulus, 2 * c.modulus})
	c.modulus *= 2
	for key, value := range c.found {
		if !has(c.class, key) {
			c.size -= c.weight(value)
			delete(c.found, key)
		}
	}
}

// unit is what can be compared alone: all rows of a site's month.
type unit struct {
	site  string
	month models.Millis
}

// units collects what would be removed, and at most so many units at a time. Safe for concurrent use.
type units struct {
	before models.Millis

	mu sync.Mutex
	*classed[unit, *bucketSet]
}

func newUnits(c class, before models.Millis, most int) *units {
	return &units{before: before, classed: newClassed[unit](c, most, func(b *bucketSet) int {
		if b == nil {
			return 0
		}
		return 1
	})}
}

func (u *units) add(p visitorPartition) {
	if !over(p.Month, u.before) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.put(unit{p.Site, p.Month}, func(b *bucketSet) *bucketSet {
		if b == nil {
			b = &bucketSet{}
		}
		b.add(p.Bucket)
		return b
	})
}

// bucketSet is a set of bucket names: the 256 regular ones as bits, and others, which somebody inserted by hand.
type bucketSet struct {
	bits  [4]uint64
	other []string
}

func (b *bucketSet) add(name string) {
	n, err := strconv.ParseUint(name, 16, 8)
	if err != nil || bucketName(int(n)) != name {
		b.other = append(b.other, name)
		return
	}
	b.bits[n/64] |= 1 << (n % 64)
}

func (b *bucketSet) list() []string {
	names := append([]string(nil), b.other...)
	for n := range 256 {
		if b.bits[n/64]&(1<<(n%64)) != 0 {
			names = append(names, bucketName(n))
		}
	}
	return names
}

func bucketName(n int) string { return fmt.Sprintf("%02x", n) }
