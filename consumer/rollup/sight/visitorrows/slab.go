package visitorrows

import (
	"hash/maphash"

	"footfall/consumer/eventlog"
	"footfall/models"
)

// entry is an entry of a row, without strings: a value of a feature is a keyed hash of 64 bits. Two values of one visitor with the same hash
// would be taken for one; among a thousand entries that happens once in 10^13 rows.
type entry struct {
	partition uint32 // by Cache.number: 24 bits
	day       uint8  // of the event, from weekBefore days before the first of the row's month
	offset    int64
	of        models.Ways
	values    [models.MaxFeatures]uint64 // 0: empty
}

// chain is the number of a slab's entry, from 1 on, that is the last one of a row; 0: the row has none.
type chain uint32

// slab keeps entries of rows. Each entry points to the one before it in its row. It has no pointers for the garbage collector to follow,
// and an entry with two features takes 40 bytes.
type slab struct {
	features int
	parts    [][]uint64
	used     int // entries
}

// partEntries is how many entries are allocated at once.
const partEntries = 4096

// keptParts is how many of these allocations a slab keeps for its next use: one entry for each of 12,000 visits, and as many again.
const keptParts = 6

// words is how many words an entry has: chain, partition and day; the offset; the ways, in one word if they fit; and the features.
func (s *slab) words() int { return 2 + s.wayWords() + s.features }

// small is the most features whose ways fit one word: three sets of 16 combinations.
const small = 4

func (s *slab) wayWords() int {
	if s.features <= small {
		return 1
	}
	return 3
}

func (s *slab) at(c chain) []uint64 {
	i, n := int(c-1), s.words()
	begin := i % partEntries * n
	return s.parts[i/partEntries][begin : begin+n]
}

// add puts an entry at the end of a row and returns the row's new end.
func (s *slab) add(e *entry, before chain) chain {
	if s.used == len(s.parts)*partEntries {
		s.parts = append(s.parts, make([]uint64, partEntries*s.words()))
	}
	s.used++
	w := s.at(chain(s.used))
	w[0] = uint64(before) | uint64(e.partition)<<32 | uint64(e.day)<<56
	w[1] = uint64(e.offset)
	s.setWays(w, e.of)
	copy(w[2+s.wayWords():], e.values[:s.features])
	return chain(s.used)
}

func (s *slab) setWays(w []uint64, of models.Ways) {
	if s.features <= small {
		w[2] = of[0] | of[1]<<16 | of[2]<<32
		return
	}
	copy(w[2:], of[:])
}

// get reads an entry, and returns the one before it in its row.
func (s *slab) get(c chain, e *entry) chain {
	w := s.at(c)
	e.partition, e.day, e.offset = uint32(w[0]>>32)&(1<<24-1), uint8(w[0]>>56), int64(w[1])
	if s.features <= small {
		e.of = models.Ways{w[2] & 0xffff, w[2] >> 16 & 0xffff, w[2] >> 32}
	} else {
		e.of = models.Ways(w[2:5])
	}
	copy(e.values[:], w[2+s.wayWords():])
	return chain(uint32(w[0]))
}

// copyRow copies a row from another slab, and returns its end and its number of entries.
func (s *slab) copyRow(from *slab, end chain) (chain, int) {
	return s.copyFrom(from, end, 0, 0)
}

// copyFrom copies the entries of a row after its entry stop, and puts them at the end of a row of s.
func (s *slab) copyFrom(from *slab, end, stop, before chain) (chain, int) {
	if end == stop {
		return before, 0
	}
	var list [16]chain // longer rows take an allocation
	order := list[:0]
	var e entry
	for c := end; c != stop; c = from.get(c, &e) {
		order = append(order, c)
	}
	for i := len(order) - 1; i >= 0; i-- {
		from.get(order[i], &e)
		before = s.add(&e, before)
	}
	return before, len(order)
}

// reset empties the slab. It keeps the memory of an ordinary chunk.
func (s *slab) reset() {
	keep := min(len(s.parts), keptParts)
	clear(s.parts[keep:])
	s.parts, s.used = s.parts[:keep], 0
}

// valueOf is what entries keep of a feature's value.
func valueOf(h eventlog.Hasher, value string) uint64 {
	if value == "" {
		return 0
	}
	return max(1, maphash.String(h[0], value))
}
