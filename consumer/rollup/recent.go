package rollup

import "footfall/models"

// recent remembers where visitors were first seen, as many as it has room for; those who were asked about longest ago go
// first. It has no pointers inside, so that a million of them cost 80 bytes each and the garbage collector nothing. Not safe
// for concurrent use.
type recent struct {
	size       int
	index      map[fingerprint]uint32 // slots
	pages      []*[page]slot          // slot 0 is the ring's head: its next is the newest, its prev the oldest
	partitions []models.Partition     // few, so that a slot has a number for one
}

type slot struct {
	id         fingerprint
	offset     int64
	partition  uint32
	prev, next uint32
}

// page is how many slots come at once: one long list would be copied, and be there twice, whenever it grows.
const page = 4096

func (r *recent) slot(i uint32) *slot { return &r.pages[i/page][i%page] }

// newRecent makes room for size visitors; 0 remembers nobody.
func newRecent(size int) *recent {
	r := &recent{size: size}
	r.purge()
	return r
}

func (r *recent) purge() {
	r.index, r.pages, r.partitions = map[fingerprint]uint32{}, []*[page]slot{new([page]slot)}, nil
}

func (r *recent) get(id fingerprint) (models.Position, bool) {
	i, known := r.index[id]
	if !known {
		return models.Position{}, false
	}
	r.unlink(i)
	r.link(i)
	s := r.slot(i)
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
		i = uint32(len(r.index) + 1)
		if int(i) == len(r.pages)*page {
			r.pages = append(r.pages, new([page]slot))
		}
	default:
		i = r.slot(0).prev
		delete(r.index, r.slot(i).id)
		r.unlink(i)
	}
	r.index[id] = i
	s := r.slot(i)
	s.id, s.offset, s.partition = id, at.Offset, r.number(at)
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
	s := r.slot(i)
	r.slot(s.prev).next, r.slot(s.next).prev = s.next, s.prev
}

// link makes slot i the newest.
func (r *recent) link(i uint32) {
	head := r.slot(0)
	s, newest := r.slot(i), r.slot(head.next)
	s.prev, s.next = 0, head.next
	newest.prev, head.next = i, i
}
