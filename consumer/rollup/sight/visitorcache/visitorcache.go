// Package visitorcache remembers where visitors were first seen.
package visitorcache

import (
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"footfall/consumer/eventlog"
	"footfall/models"
)

// Cache remembers where visitors were first seen. It evicts those that were asked about longest ago. Not safe for concurrent use.
//
// It has two parts. Recent visitors are in an LRU, where each costs 120 bytes and the garbage collector scans every one of them. What the
// LRU evicts goes into a ring, which costs a third of that and nothing for the collector. A hit in the ring's older half promotes the
// visitor back into the LRU. Its entry in the ring stays and stays true, so such a visitor has two entries for a while.
type Cache struct {
	size       int
	front      *simplelru.LRU[eventlog.Fingerprint, packed] // nil: the cache is off
	behind     eventlog.RingIndex[packed]                   // what the LRU evicted, numbered
	partitions []models.Partition                           // a packed position has an index of this list
}

// packed is a position: the index of the partition, and 48 bits of offset. A position that does not fit is not cached.
type packed uint64

const offsetBits = 48

// queued is the smallest size that has a ring.
const queued = 16

// New makes a cache of about size visitors; 0: the cache is off.
func New(size int) *Cache {
	r := &Cache{size: size}
	r.Purge()
	return r
}

// Purge empties the cache.
func (r *Cache) Purge() {
	switch front := r.size / 8; {
	case r.size < 1:
	case r.size < queued:
		r.front, _ = simplelru.NewLRU[eventlog.Fingerprint, packed](r.size, nil) // fails for sizes below 1 only
	default:
		r.behind = eventlog.NewRingIndex[packed](int64(r.size-front), 0)
		r.front, _ = simplelru.NewLRU(front, func(id eventlog.Fingerprint, at packed) {
			r.behind.MoveTo(r.behind.Last + 1)
			r.behind.Put(id, at)
		})
	}
}

// Bytes is about the memory that the cache takes.
func (r *Cache) Bytes() int {
	if r.front == nil {
		return 0
	}
	return 120*r.front.Len() + 40*r.behind.Length()
}

// Get returns the position of the visitor's first event, and whether the cache has it.
func (r *Cache) Get(id eventlog.Fingerprint) (models.Position, bool) {
	if r.front == nil {
		return models.Position{}, false
	}
	at, known := r.front.Get(id)
	if !known && r.size >= queued {
		var number int64
		if at, number, known = r.behind.Find(id); known && number < r.behind.Last-r.behind.Most/2 {
			r.front.Add(id, at)
		}
	}
	if !known {
		return models.Position{}, false
	}
	p := r.partitions[at>>offsetBits]
	return models.Position{Topic: p.Topic, Partition: p.Number, Offset: int64(at & (1<<offsetBits - 1))}, true
}

// Add caches the position of a visitor's first event.
func (r *Cache) Add(id eventlog.Fingerprint, at models.Position) {
	if r.front == nil || at.Offset>>offsetBits != 0 {
		return
	}
	if number := r.number(at); number>>(64-offsetBits) == 0 {
		r.front.Add(id, packed(number<<offsetBits|uint64(at.Offset)))
	}
}

func (r *Cache) number(at models.Position) uint64 {
	p := models.Partition{Topic: at.Topic, Number: at.Partition}
	for i, known := range r.partitions {
		if known == p {
			return uint64(i)
		}
	}
	r.partitions = append(r.partitions, p)
	return uint64(len(r.partitions) - 1)
}
