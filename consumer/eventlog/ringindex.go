package eventlog

import (
	"fmt"
	"hash/maphash"
)

// RingIndex remembers what happened at the last numbers of a sequence: an id at each, or none, and a value with it. It has to be
// small, since there are many of them or they are long, and with values without pointers there is nothing in it for the garbage
// collector to follow. Not safe for concurrent use.
//
// It is a ring with a place for each number, and chains through it of those whose ids fall into the same one of so many lists,
// the latest first. Nothing is ever taken out: a chain ends where it gets beyond the last numbers.
type RingIndex[T any] struct {
	ring   []ringEntry[T] // by number, modulo its length
	latest []int64        // as many: the last number of each chain, or a negative one
	Most   int64          // numbers that it reaches back over
	first  int64          // nothing is known below
	Last   int64          // the number it is at
	next   int64          // the first number that nothing was put at, nor behind it
}

// ringEntry is what happened at one number; the zero id: nothing.
type ringEntry[T any] struct {
	id     Fingerprint
	before int64 // the number that comes next in the chain
	value  T
}

// shortRing is the length that a ring begins with. It doubles as it gets longer. It is short enough for the rings of the
// simulation to grow.
const shortRing = 8

// NewRingIndex makes an index over so many numbers, from start on.
func NewRingIndex[T any](most, start int64) RingIndex[T] {
	t := RingIndex[T]{Most: most, first: start, Last: start, next: start}
	t.resize(min(shortRing, most))
	return t
}

// MoveTo goes on to a number that nothing was put at yet, nor behind it.
func (t *RingIndex[T]) MoveTo(number int64) {
	if number < t.next {
		panic(fmt.Sprintf("a ring index that is at %d goes back to %d", t.next, number)) // its chains would run in circles
	}
	t.Last, t.first = number, max(t.first, number-t.Most+1)
	size := int64(len(t.ring))
	for size <= t.Last-t.first {
		size = min(2*size, t.Most)
	}
	if size > int64(len(t.ring)) {
		t.resize(size)
	}
	// The ring has its length by now. In a shorter one the places of skipped numbers are those of numbers that are still known.
	for skipped := max(t.next, number-size); skipped < number; skipped++ {
		*t.at(skipped) = ringEntry[T]{}
	}
}

// Find is the latest value of an id, if it is among the last numbers, and its number.
func (t *RingIndex[T]) Find(id Fingerprint) (value T, number int64, found bool) {
	for n := t.latest[t.chain(id)]; n >= t.first; n = t.at(n).before {
		if s := t.at(n); s.id == id {
			return s.value, n, true
		}
	}
	return value, 0, false
}

// Put notes an id and its value at the number that the index is at.
func (t *RingIndex[T]) Put(id Fingerprint, value T) {
	t.link(t.Last, id, value)
	t.next = t.Last + 1
}

func (t *RingIndex[T]) link(number int64, id Fingerprint, value T) {
	latest := &t.latest[t.chain(id)]
	*t.at(number) = ringEntry[T]{id, *latest, value}
	*latest = number
}

func (t *RingIndex[T]) chain(id Fingerprint) uint64   { return id[0] % uint64(len(t.latest)) }
func (t *RingIndex[T]) at(number int64) *ringEntry[T] { return &t.ring[number%int64(len(t.ring))] }

// resize gives the ring another length. What is known moves over.
func (t *RingIndex[T]) resize(size int64) {
	old := *t
	t.ring, t.latest = make([]ringEntry[T], size), make([]int64, size)
	for i := range t.latest {
		t.latest[i] = -1
	}
	for n := old.first; n < old.next; n++ {
		if s := old.at(n); s.id != (Fingerprint{}) {
			t.link(n, s.id, s.value)
		}
	}
}

// Fingerprint stands for a longer value in memory: 128 bits from two keyed hashes. Two values share one with a
// probability of 2^-128, and nobody who does not know this process's seeds can make it happen on purpose.
type Fingerprint [2]uint64

// Hasher makes fingerprints. They mean nothing to another process.
type Hasher [2]maphash.Seed

// NewHasher makes one with seeds of its own.
func NewHasher() Hasher { return Hasher{maphash.MakeSeed(), maphash.MakeSeed()} }

// FingerprintOf is the fingerprint of a value. It allocates nothing.
func FingerprintOf[T comparable](h Hasher, value T) Fingerprint {
	return Fingerprint{maphash.Comparable(h[0], value), maphash.Comparable(h[1], value)}
}
