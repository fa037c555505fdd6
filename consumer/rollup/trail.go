package rollup

import "slices"

// trail remembers what happened at the last numbers of a sequence: an id at each, or none, and a value with it. It has to be
// small, since there are many of them or they are long, and with values without pointers there is nothing in it for the garbage
// collector to follow. Not safe for concurrent use.
//
// It is a ring with a place for each number, and chains through it of those whose ids fall into the same one of so many lists,
// the latest first. Nothing is ever taken out: a chain ends where it gets beyond the last numbers.
type trail[T any] struct {
	ring   []step[T] // by number, modulo its length
	latest []int64   // as many: the last number of each chain, or a negative one
	most   int64     // numbers that it reaches back over
	first  int64     // nothing is known below
	last   int64     // the number it is at
}

// step is what happened at one number.
type step[T any] struct {
	id     fingerprint
	before int64 // the number that comes next in the chain
	value  T
}

const shortTrail = 64 // it begins with, unless it never gets longer than less

// newTrail makes a trail over so many numbers, from start on. It takes memory for those that it has come to.
func newTrail[T any](most, start int64) trail[T] {
	t := trail[T]{most: most, first: start, last: start}
	t.resize(shortTrail)
	return t
}

// moveTo goes on to a number, which must be larger than that of the last put.
func (t *trail[T]) moveTo(number int64) {
	t.last, t.first = number, max(t.first, number-t.most+1)
	for t.last-t.first >= int64(len(t.ring)) {
		t.resize(2 * len(t.ring))
	}
}

// find is the latest value of an id, if it is among the last numbers.
func (t *trail[T]) find(id fingerprint) (value T, found bool) {
	for n := t.latest[t.chain(id)]; n >= t.first; n = t.at(n).before {
		if s := t.at(n); s.id == id {
			return s.value, true
		}
	}
	return value, false
}

// put notes an id and its value at the number that the trail is at.
func (t *trail[T]) put(id fingerprint, value T) { t.link(t.last, id, value) }

func (t *trail[T]) link(number int64, id fingerprint, value T) {
	latest := &t.latest[t.chain(id)]
	*t.at(number) = step[T]{id, *latest, value}
	*latest = number
}

func (t *trail[T]) chain(id fingerprint) uint64 { return id[0] % uint64(len(t.latest)) }
func (t *trail[T]) at(number int64) *step[T]    { return &t.ring[number%int64(len(t.ring))] }

// resize makes room for so many numbers, or for all that it reaches back over if they are fewer. What is known moves over.
func (t *trail[T]) resize(size int) {
	old := *t
	size = int(min(int64(size), t.most))
	t.ring, t.latest = make([]step[T], size), make([]int64, size)
	for i := range t.latest {
		t.latest[i] = -1
	}
	var known []int64
	for _, n := range old.latest {
		for ; n >= old.first; n = old.at(n).before {
			known = append(known, n)
		}
	}
	slices.Sort(known) // a chain has its latest number in front
	for _, n := range known {
		s := old.at(n)
		t.link(n, s.id, s.value)
	}
}
