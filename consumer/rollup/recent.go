package rollup

import "footfall/models"

// recent remembers where visitors were first seen, as many as it has room for; those who were asked about longest ago go
// first. It has no pointers inside, so that a million of them cost 80 bytes each and the garbage collector nothing. Not safe
// for concurrent use.
type recent struct {
	size       int
	index      map[fingerprint]uint32 // slots
	slots      []slot                 // slot 0 is the ring's head: its next is the newest, its prev the oldest
	partitions []models.Partition     // few, so that a slot has a number for one
}

type slot struct {
	id         fingerprint
	offset     int64
	partition  uint32
	prev, next uint32
}

// newRecent makes room for size visitors; 0 remembers nobody.
func newRecent(size int) *recent {
	r := &recent{size: size}
	r.purge()
	return r
}

func (r *recent) purge() {
	r.index, r.slots, r.partitions = map[fingerprint]uint32{}, make([]slot, 1), nil
}

func (r *recent) get(id fingerprint) (models.Position, bool) {
	i, known := r.index[id]
	if !known {
		return models.Position{}, false
	}
	r.unlink(i)
	r.link(i)
	s := r.slots[i]
	p := r.partitions[s.partition]
	return models.Position{Topic: p.Topic, Partition: p.Number, Offset: s.offset}, true
}

func (r *recent) add(id fingerprint, at models.Position) {
	if r.size == 0 {
		return
	}
	i, known := r.index[id]
	switch {
	case known:
		r.unlink(i)
	case len(r.index) < r.size:
		i = uint32(len(r.slots))
		r.slots = append(r.slots, slot{})
	default:
		i = r.slots[0].prev
		delete(r.index, r.slots[i].id)
		r.unlink(i)
	}
	r.index[id] = i
	r.slots[i].id, r.slots[i].offset, r.slots[i].partition = id, at.Offset, r.number(at)
	r.link(i)
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

func (r *recent) unlink(i uint32) {
	s := r.slots[i]
	r.slots[s.prev].next, r.slots[s.next].prev = s.next, s.prev
}

// link makes slot i the newest.
func (r *recent) link(i uint32) {
	newest := r.slots[0].next
	r.slots[i].prev, r.slots[i].next = 0, newest
	r.slots[newest].prev, r.slots[0].next = i, i
}
