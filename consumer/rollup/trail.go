package rollup

import "fmt"

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
	next   int64     // the first number that nothing was put at, nor behind it
}

// step is what happened at one number; the zero id: nothing.
type step[T any] struct {
	id     fingerprint
	before int64 // the number that comes next in the chain
	value  T
}

// shortTrail is the length that a ring begins with. It doubles as the trail gets longer. It is short enough for the rings of the
// simulation to grow.
const shortTrail = 8

// newTrail makes a trail over so many numbers, from start on.
func newTrail[T any](most, start int64) trail[T] {
	t := trail[T]{most: most, first: start, last: start, next: start}
	t.resize(min(shortTrail, most))
	return t
}

// moveTo goes on to a number that nothing was put at yet, nor behind it.
func (t *trail[T]) moveTo(number int64) {
	if number < t.next {
		panic(fmt.Sprintf("a trail that is at %d goes back to %d", t.next, number)) // its chains would run in circles
	}
	t.last, t.first = number, max(t.first, number-t.most+1)
	size := int64(len(t.ring))
	for size <= t.last-t.first {
		size = min(2*size, t.most)
	}
	if size > int64(len(t.ring)) {
		t.resize(size)
	}
	// The ring has its length by now. In a shorter one the places of skipped numbers are those of numbers that are still known.
	for skipped := max(t.next, number-size); skipped < number; skipped++ {
		*t.at(skipped) = step[T]{}
	}
}

// find is the latest value of an id, if it is among the last numbers, and its number.
func (t *trail[T]) find(id fingerprint) (value T, number int64, found bool) {
	for n := t.latest[t.chain(id)]; n >= t.first; n = t.at(n).before {
		if s := t.at(n); s.id == id {
			return s.value, n, true
		}
	}
	return value, 0, false
}

// put notes an id and its value at the number that the trail is at.
func (t *trail[T]) put(id fingerprint, value T) {
	t.link(t.last, id, value)
	t.next = t.last + 1
}

func (t *trail[T]) link(number int64, id fingerprint, value T) {
	latest := &t.latest[t.chain(id)]
	*t.at(number) = step[T]{id, *latest, value}
	*latest = number
}

func (t *trail[T]) chain(id fingerprint) uint64 { return id[0] % uint64(len(t.latest)) }
func (t *trail[T]) at(number int64) *step[T]    { return &t.ring[number%int64(len(t.ring))] }

// resize gives the ring another length. What is known moves over.
func (t *trail[T]) resize(size int64) {
	old := *t
	t.ring, t.latest = make([]step[T], size), make([]int64, size)
	for i := range t.latest {
		t.latest[i] = -1
	}
	for n := old.first; n < old.next; n++ {
		if s := old.at(n); s.id != (fingerprint{}) {
			t.link(n, s.id, s.value)
		}
	}
}
