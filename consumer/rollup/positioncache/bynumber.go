package positioncache

import (
	"iter"

	"footfall/models"
)

// ByNumber has the positions of many keys, by numbers that stand for the keys, in little memory: 8 bytes for a key and 16 for a position. Not safe
// for concurrent use.
type ByNumber struct {
	keys    []stretch
	all     []short
	tenures []tenure
	numbers map[tenure]int32 // of tenures
}

// stretch is where the positions of a key are in the list of all.
type stretch struct{ begin, end int32 }

// short is a position; tenure is an index of tenures.
type short struct {
	to     int64
	tenure int32
}

// NewByNumber has no position yet, for keys with numbers below that.
func NewByNumber(keys int) *ByNumber {
	return &ByNumber{keys: make([]stretch, keys), all: make([]short, 0, keys*5/4+16), numbers: map[tenure]int32{}}
}

// Set sets all positions of a key, at most one for each partition. Call it once for a key.
func (b *ByNumber) Set(number int, all []Position) {
	begin := int32(len(b.all))
	for _, p := range all {
		of := tenure{p.Partition, p.Epoch}
		n, known := b.numbers[of]
		if !known {
			n = int32(len(b.tenures))
			b.numbers[of] = n
			b.tenures = append(b.tenures, of)
		}
		b.all = append(b.all, short{p.To, n})
	}
	b.keys[number] = stretch{begin, int32(len(b.all))}
}

// In returns the position of a key in a partition; the zero position if there is none.
func (b *ByNumber) In(number int, p models.Partition) Position {
	for _, s := range b.all[b.keys[number].begin:b.keys[number].end] {
		if b.tenures[s.tenure].partition == p {
			return b.position(s)
		}
	}
	return Position{Partition: p}
}

// Append appends the positions of a key.
func (b *ByNumber) Append(to []Position, number int) []Position {
	for _, s := range b.all[b.keys[number].begin:b.keys[number].end] {
		to = append(to, b.position(s))
	}
	return to
}

// All yields the positions of all keys.
func (b *ByNumber) All() iter.Seq[Position] {
	return func(yield func(Position) bool) {
		for _, s := range b.all {
			if !yield(b.position(s)) {
				return
			}
		}
	}
}

func (b *ByNumber) position(s short) Position {
	t := b.tenures[s.tenure]
	return Position{Partition: t.partition, To: s.to, Epoch: t.epoch}
}
