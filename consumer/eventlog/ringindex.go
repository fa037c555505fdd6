package eventlog

import (
	"fmt"
	"hash/maphash"
)

// RingIndex remembers an id and a value, or nothing, for each of the last Most numbers of a sequence. It has to be small: indexes are
// many or long. If T has no pointers, the garbage collector need not scan it. Not safe for concurrent use.
//
// It is a hash table in a ring buffer. The ring has an entry for each number. Entries whose ids share a hash bucket form a chain, the
// latest first. Nothing is ever removed: a chain ends at the first number that is too old.
type RingIndex[T any] struct {
	ring   []ringEntry[T] // by number, modulo its length
	latest []int64        // by bucket: the latest number of its chain; negative: none. As long as ring
	Most   int64          // how many numbers it reaches back
	first  int64          // the oldest number that is remembered
	Last   int64          // the current number
	next   int64          // the lowest number that MoveTo may go to
}

// ringEntry is one number's id and value; the zero id: nothing.
type ringEntry[T any] struct {
	id     Fingerprint
	before int64 // the next older number in the chain
	value  T
}

// shortRing is a ring's first length, which doubles as needed. It is short enough for the simulation's rings to grow.
const shortRing = 8

// NewRingIndex makes an index that reaches back over most numbers, from start on.
func NewRingIndex[T any](most, start int64) RingIndex[T] {
	t := RingIndex[T]{Most: most, first: start, Last: start, next: start}
	t.resize(min(shortRing, most))
	return t
}

// MoveTo sets the current number, which has to be higher than all that were put. It panics otherwise: the chains would become cycles.
func (t *RingIndex[T]) MoveTo(number int64) {
	if number < t.next {
		panic(fmt.Sprintf("ring index at %d cannot go back to %d", t.next, number))
	}
	t.Last, t.first = number, max(t.first, number-t.Most+1)
	size := int64(len(t.ring))
	for size <= t.Last-t.first {
		size = min(2*size, t.Most)
	}
	if size > int64(len(t.ring)) {
		t.resize(size)
	}
	// Clear after resizing only: in the shorter ring a skipped number may share its entry with one that is still remembered.
	for skipped := max(t.next, number-size); skipped < number; skipped++ {
		*t.at(skipped) = ringEntry[T]{}
	}
}

// Length is how many numbers there is room for now: it grows up to Most.
func (t *RingIndex[T]) Length() int { return len(t.ring) }

// Find returns the latest value of an id and its number, if the index still remembers it.
func (t *RingIndex[T]) Find(id Fingerprint) (value T, number int64, found bool) {
	for n := t.latest[t.chain(id)]; n >= t.first; n = t.at(n).before {
		if s := t.at(n); s.id == id {
			return s.value, n, true
		}
	}
	return value, 0, false
}

// Put stores an id and its value at the current number.
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

// resize gives the ring another length and copies the entries.
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

// Fingerprint stands for a longer value in memory: 128 bits from two keyed hashes. Two values collide with a probability of 2^-128.
// Nobody can provoke a collision without this process's seeds.
type Fingerprint [2]uint64

// Hasher makes fingerprints. Those of two hashers cannot be compared. Safe for concurrent use.
type Hasher [2]maphash.Seed

// NewHasher makes a hasher with random seeds.
func NewHasher() Hasher { return Hasher{maphash.MakeSeed(), maphash.MakeSeed()} }

// FingerprintOf returns the fingerprint of a value, without allocating.
func FingerprintOf[T comparable](h Hasher, value T) Fingerprint {
	return Fingerprint{maphash.Comparable(h[0], value), maphash.Comparable(h[1], value)}
}
