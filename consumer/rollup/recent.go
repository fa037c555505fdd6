package rollup

import (
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"footfall/models"
)

// recent remembers where visitors were first seen, as many as it has room for; those who were asked about longest ago go
// first. Not safe for concurrent use.
type recent struct {
	lru        *simplelru.LRU[uint64, place] // by half of the fingerprint; nil: nobody is remembered
	partitions []models.Partition            // few, so that a place has a number for one
}

// place is a position in half the memory, and without a pointer that the garbage collector would follow. It holds more of
// the fingerprint: another visitor with the same first half is not remembered, and is looked up as if it had gone.
type place struct {
	offset    int64
	partition uint32
	more      uint32
}

// newRecent makes room for size visitors; 0 remembers nobody.
func newRecent(size int) *recent {
	r := &recent{}
	if size > 0 {
		r.lru, _ = simplelru.NewLRU[uint64, place](size, nil) // fails for sizes below 1 only
	}
	return r
}

func (r *recent) purge() {
	if r.lru != nil {
		r.lru.Purge()
	}
}

func (r *recent) get(id fingerprint) (models.Position, bool) {
	if r.lru == nil {
		return models.Position{}, false
	}
	at, known := r.lru.Get(id[0])
	if !known || at.more != uint32(id[1]) {
		return models.Position{}, false
	}
	p := r.partitions[at.partition]
	return models.Position{Topic: p.Topic, Partition: p.Number, Offset: at.offset}, true
}

func (r *recent) add(id fingerprint, at models.Position) {
	if r.lru != nil {
		r.lru.Add(id[0], place{at.Offset, r.number(at), uint32(id[1])})
	}
}

func (r *recent) number(at models.Position) uint32 {
	p := models.Partition{Topic: at.Topic, Number: at.Partition}
	for i, known := range r.partitions {
		if known == p {
			return uint32(i)
		}
	}
	r.partitions = append(r.partitions, p)
	return uint32(len(r.partitions) - 1)
}
