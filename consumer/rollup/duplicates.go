package rollup

import (
	"hash/maphash"
	"slices"
	"time"
)

// fingerprint stands for a longer value in memory: 128 bits from two keyed hashes. Two values share one with a
// probability of 2^-128, and nobody who does not know this process's seeds can make it happen on purpose.
type fingerprint [2]uint64

// hasher makes fingerprints. They mean nothing to another process.
type hasher [2]maphash.Seed

func newHasher() hasher { return hasher{maphash.MakeSeed(), maphash.MakeSeed()} }

func fingerprintOf[T comparable](h hasher, value T) fingerprint {
	return fingerprint{maphash.Comparable(h[0], value), maphash.Comparable(h[1], value)}
}

// window knows the event ids of the last offsets of one partition. It is a function of the log alone: read from the same
// offsets, any process decides alike which events are duplicates. Not safe for concurrent use.
//
// There is one for each partition, so it has to be small, and nothing in it is for the garbage collector to follow: a ring with
// a place for each offset, and chains through it of those whose ids fall into the same one of so many lists, the latest first.
// Nothing is ever taken out: a chain ends where it gets beyond the reach.
type window struct {
	reach
	ring   []occurrence // by offset, modulo its length
	latest []int64      // as many: the last offset of each chain, or a negative one
	first  int64        // nothing is known below
	next   int64        // the offset it is ready for
}

// reach is how far back an id is looked for. Both bounds must hold: the second one makes sure that the log still has what
// a decision needs, however slowly the log grows.
type reach struct {
	offsets int64
	age     time.Duration // by the times that the messages have in the log
}

// occurrence is what stands at one offset. Where no event does it is never looked at, unless the ring grows.
type occurrence struct {
	id     fingerprint
	at     int64 // Unix nanoseconds
	before int64 // the offset that comes next in the chain
}

const smallestRing = 64 // unless the reach is shorter

// newWindow makes a window that is ready for the events from offset start on.
func newWindow(r reach, start int64) *window {
	w := &window{reach: r, first: start, next: start}
	w.resize(smallestRing)
	return w
}

// pass moves on beyond an offset that holds no countable event.
func (w *window) pass(offset int64) { w.next = offset + 1 }

// see notes that id stands at offset, with that message's time, and tells whether it is a duplicate: whether it occurred
// before within reach. Offsets must grow from call to call; times need not.
func (w *window) see(id fingerprint, offset int64, at time.Time) bool {
	w.first = max(w.first, offset-w.offsets)
	for offset-w.first >= int64(len(w.ring)) {
		w.resize(2 * len(w.ring))
	}
	moment, duplicate := at.UnixNano(), false
	for o := w.latest[w.chain(id)]; o >= w.first; o = w.place(o).before {
		if was := w.place(o); was.id == id { // the last time
			duplicate = moment-was.at <= int64(w.age)
			break
		}
	}
	w.put(occurrence{id: id, at: moment}, offset)
	w.next = offset + 1
	return duplicate
}

func (w *window) chain(id fingerprint) uint64    { return id[0] % uint64(len(w.latest)) }
func (w *window) place(offset int64) *occurrence { return &w.ring[offset%int64(len(w.ring))] }

// put makes an occurrence the first of its chain.
func (w *window) put(o occurrence, offset int64) {
	latest := &w.latest[w.chain(o.id)]
	o.before = *latest
	*latest, *w.place(offset) = offset, o
}

// resize makes room for so many offsets, or for all within reach if they are fewer. What is known moves over.
func (w *window) resize(size int) {
	old := *w
	size = int(min(int64(size), w.offsets+1))
	w.ring, w.latest = make([]occurrence, size), make([]int64, size)
	for i := range w.latest {
		w.latest[i] = -1
	}
	var known []int64
	for _, o := range old.latest {
		for ; o >= old.first; o = old.place(o).before {
			known = append(known, o)
		}
	}
	slices.Sort(known) // a chain has its latest offset in front
	for _, o := range known {
		w.put(*old.place(o), o)
	}
}
