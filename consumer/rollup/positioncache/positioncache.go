// Package positioncache remembers how far the counters of keys are.
package positioncache

import (
	"footfall/consumer/eventlog"
	"footfall/models"
)

// Position is how far a key's counters are in one Kafka partition.
type Position struct {
	Partition models.Partition
	To        int64 // every event of the key below is counted
	Epoch     int64 // of our ledger row, which ends at To and is extended; 0: there is none, open one
}

// Cache remembers the positions of keys: of each key that it knows, those in all partitions. It forgets whole keys, those that were used longest
// ago. Not safe for concurrent use.
//
// It has two generations, maps without pointers that the garbage collector need not scan. All that is used goes to the young one. When that is
// full, it becomes the old one, and what only the old one had is forgotten. What is in both is newer in the young one.
type Cache struct {
	// Forgot says that a key which the cache does not know may have had positions. The cache sets it when it forgets; the caller may set it, too.
	Forgot bool

	hasher     eventlog.Hasher
	most       int // entries of a generation
	young, old map[eventlog.Fingerprint]entry
	tenures    []tenure // a packed position has an index of this list
	numbers    map[tenure]packed
	scratch    []packed
}

// entry has up to four positions of a key; 0: none. A key with more of them has further entries: continued is set in the last position of each
// entry but the last.
type entry [4]packed

// packed is a position: 48 bits of To, the index of its partition and epoch, and whether it is continued.
type packed uint64

type tenure struct {
	partition models.Partition
	epoch     int64
}

const (
	offsetBits = 48
	tenureBits = 15
	continued  = packed(1) << (offsetBits + tenureBits)
)

// New makes a cache of about size entries: at most that many, at least half of them if there are as many keys.
func New(hasher eventlog.Hasher, size int) *Cache {
	c := &Cache{hasher: hasher, most: max(size/2, 1)}
	c.Purge()
	return c
}

// Purge empties the cache, as if it had never known anything.
func (c *Cache) Purge() {
	c.young, c.old = map[eventlog.Fingerprint]entry{}, map[eventlog.Fingerprint]entry{}
	c.tenures, c.numbers = make([]tenure, 1), map[tenure]packed{} // no index is 0: neither is a position
	c.Forgot = false
}

// Len is how many entries there are.
func (c *Cache) Len() int { return len(c.young) + len(c.old) }

// Append appends all positions of a key, in the order in which they were put, and tells whether the cache knows the key.
func (c *Cache) Append(to []Position, key models.Key) ([]Position, bool) {
	begin := len(to)
	for id := eventlog.FingerprintOf(c.hasher, key); ; id = next(id) {
		e, known := c.get(id)
		if !known {
			return to[:begin], false
		}
		for _, p := range e {
			if p != 0 {
				t := c.tenures[p&^continued>>offsetBits]
				to = append(to, Position{Partition: t.partition, To: int64(p & (1<<offsetBits - 1)), Epoch: t.epoch})
			}
		}
		if e[len(e)-1]&continued == 0 {
			return to, true
		}
	}
}

// Put remembers the positions of a key: all that it has, at most one for each partition.
func (c *Cache) Put(key models.Key, all []Position) {
	if len(c.tenures)+len(all) > 1<<tenureBits { // many epochs later
		c.Purge()
		c.Forgot = true
	}
	c.scratch = c.scratch[:0]
	for _, p := range all {
		if uint64(p.To)>>offsetBits != 0 {
			c.Remove(key)
			c.Forgot = true
			return
		}
		c.scratch = append(c.scratch, c.number(tenure{p.Partition, p.Epoch})<<offsetBits|packed(p.To))
	}
	id, left := eventlog.FingerprintOf(c.hasher, key), c.scratch
	for ; len(left) > len(entry{}); id = next(id) {
		e := entry(left)
		e[len(e)-1] |= continued
		c.put(id, e)
		left = left[len(e):]
	}
	var e entry
	copy(e[:], left)
	c.put(id, e)
}

// Remove makes the cache know nothing of a key. That does not count as forgotten.
func (c *Cache) Remove(key models.Key) {
	id := eventlog.FingerprintOf(c.hasher, key) // without its first entry a key is not known
	delete(c.young, id)
	delete(c.old, id)
}

func (c *Cache) get(id eventlog.Fingerprint) (entry, bool) {
	e, known := c.young[id]
	if !known {
		if e, known = c.old[id]; known {
			c.put(id, e)
		}
	}
	return e, known
}

func (c *Cache) put(id eventlog.Fingerprint, e entry) {
	if _, there := c.young[id]; !there && len(c.young) >= c.most {
		c.Forgot = c.Forgot || len(c.old) > 0
		clear(c.old)
		c.young, c.old = c.old, c.young
	}
	c.young[id] = e
}

func (c *Cache) number(t tenure) packed {
	n, known := c.numbers[t]
	if !known {
		n = packed(len(c.tenures))
		c.numbers[t] = n
		c.tenures = append(c.tenures, t)
	}
	return n
}

// next is the id of a key's next entry.
func next(id eventlog.Fingerprint) eventlog.Fingerprint {
	return eventlog.Fingerprint{id[0], id[1] + 1}
}
