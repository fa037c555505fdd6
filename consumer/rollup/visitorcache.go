package rollup

import (
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"footfall/consumer/eventlog"
	"footfall/models"
)

// visitorCache remembers where visitors were first seen, about as many as it has room for; those who were asked about longest ago go
// first. Not safe for concurrent use.
//
// It has two parts. The visitors of late are in an LRU, which costs 120 bytes each and the garbage collector looks at every one
// of them. What the LRU evicts goes into a ring, which costs a third of that and nothing for the collector. A hit in the ring's older
// half promotes the visitor back into the LRU. Its entry in the ring stays, since it stays true: visitors who come back take some of the
// room of others.
type visitorCache struct {
	size       int
	front      *simplelru.LRU[eventlog.Fingerprint, packed] // nil: nobody is remembered
	behind     eventlog.RingIndex[packed]                   // what the LRU evicted, numbered
	partitions []models.Partition                           // few, so that each has a small number
}

// packed is a position: the partition's number, and 48 bits of offset. Whatever does not fit is not remembered.
type packed uint64

const offsetBits = 48

// queued is from which size on there is a ring.
const queued = 16

// newVisitorCache makes room for size visitors; 0 remembers nobody.
func newVisitorCache(size int) *visitorCache {
	r := &visitorCache{size: size}
	r.purge()
	return r
}

func (r *visitorCache) purge() {
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

func (r *visitorCache) get(id eventlog.Fingerprint) (models.Position, bool) {
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

func (r *visitorCache) add(id eventlog.Fingerprint, at models.Position) {
	if r.front == nil || at.Offset>>offsetBits != 0 {
		return
	}
	if number := r.number(at); number>>(64-offsetBits) == 0 {
		r.front.Add(id, packed(number<<offsetBits|uint64(at.Offset)))
	}
}

func (r *visitorCache) number(at models.Position) uint64 {
	p := models.Partition{Topic: at.Topic, Number: at.Partition}
	for i, known := range r.partitions {
		if known == p {
			return uint64(i)
		}
	}
	r.partitions = append(r.partitions, p)
	return uint64(len(r.partitions) - 1)
}
