// Package visitorrows decides in which ways visits are their visitors' first, from the visitors' rows, and remembers rows.
package visitorrows

import (
	"footfall/consumer/eventlog"
	"footfall/models"
)

// Cache remembers rows of visitors, each of them whole. Not safe for concurrent use.
//
// It has two generations. What is asked about or added goes to the young one. When that is full, it becomes the old one, and the old one is
// dropped with all who were not asked about since. A row is copied from the old to the young one when it is asked about.
type Cache struct {
	hasher     eventlog.Hasher
	bytes      int // of a generation
	young, old generation
	partitions map[models.Partition]uint32 // numbers them
}

type generation struct {
	ends map[eventlog.Fingerprint]chain
	slab slab
}

// bytesEach is how much memory a visitor may take on average: an entry of the map, and about two entries of the row.
const bytesEach = 128

// headBytes is what the map takes for a row.
const headBytes = 40

// New makes a cache of about size visitors, who take 128 bytes each; 0: the cache is off.
func New(h eventlog.Hasher, size int) *Cache {
	c := &Cache{hasher: h, partitions: map[models.Partition]uint32{}}
	c.Resize(size)
	return c
}

// Resize empties the cache and makes it one of about size visitors.
func (c *Cache) Resize(size int) {
	c.bytes = size * bytesEach / 2
	c.Purge()
}

// Purge empties the cache.
func (c *Cache) Purge() { c.young, c.old = c.generation(0), c.generation(0) }

func (c *Cache) generation(features int) generation {
	return generation{ends: map[eventlog.Fingerprint]chain{}, slab: slab{features: features}}
}

func (g *generation) bytes() int { return len(g.ends)*headBytes + g.slab.used*g.slab.words()*8 }

// Bytes is about the memory that the cache takes.
func (c *Cache) Bytes() int { return c.young.bytes() + c.old.bytes() }

// find copies a row to a slab. It returns the row's end there, its number of entries, and whether the cache has the row.
func (c *Cache) find(id eventlog.Fingerprint, to *slab) (end chain, n int, known bool) {
	at, known := c.young.ends[id]
	if !known {
		if at, known = c.old.ends[id]; !known {
			return 0, 0, false
		}
		at = c.keep(id, &c.old.slab, at)
		if at == 0 {
			return 0, 0, false
		}
	}
	end, n = to.copyRow(&c.young.slab, at)
	return end, n, true
}

// keep copies a whole row into the young generation, in place of what the cache knows of it. It returns the row's end there.
func (c *Cache) keep(id eventlog.Fingerprint, from *slab, end chain) chain {
	if c.bytes == 0 || end == 0 {
		return 0
	}
	if c.young.bytes() >= c.bytes {
		if from == &c.old.slab { // which is dropped now
			moved := slab{features: from.features}
			end, _ = moved.copyRow(from, end)
			from = &moved
		}
		c.old, c.young = c.young, c.generation(from.features)
	}
	c.young.slab.features = from.features
	at, _ := c.young.slab.copyRow(from, end)
	c.young.ends[id] = at
	return at
}

// extend adds the entries after stop to a row that the cache knows; else it keeps the row as a whole.
func (c *Cache) extend(id eventlog.Fingerprint, from *slab, end, stop chain) {
	if at, known := c.young.ends[id]; known && stop != 0 && c.young.bytes() < c.bytes {
		c.young.ends[id], _ = c.young.slab.copyFrom(from, end, stop, at)
		return
	}
	c.keep(id, from, end)
}

// drop removes a row.
func (c *Cache) drop(id eventlog.Fingerprint) {
	delete(c.young.ends, id)
	delete(c.old.ends, id)
}

// key is by what the cache finds a row: the visitor, and the partition of the log. A visitor is in one partition of each generation of a topic. While
// a consumer has that partition it sees all of the visitor's events. In another generation another consumer may have added to the row.
func (c *Cache) key(visitor eventlog.Fingerprint, p models.Partition) eventlog.Fingerprint {
	const spread = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio: numbers that follow each other end up far apart
	return eventlog.Fingerprint{visitor[0] + spread*uint64(c.number(p)), visitor[1]}
}

// number is a partition's own number among those that the cache has seen.
func (c *Cache) number(p models.Partition) uint32 {
	number, known := c.partitions[p]
	if !known {
		number = uint32(len(c.partitions))
		c.partitions[p] = number
	}
	return number
}
