package sums

import "hash/maphash"

// numbered has each of its values once. A value's number is its place. A map from values to numbers would have all of them a second time.
type numbered[T comparable] struct {
	all   []T
	slots []slot // the one of the hash, or the first free one after it; a power of two, of which at most three quarters are taken
	seed  maphash.Seed
}

// slot is where a value is found by its hash.
type slot struct {
	hash    uint32
	plusOne int32 // one more than the value's number; 0: the slot is free
}

func newNumbered[T comparable]() numbered[T] {
	return numbered[T]{seed: maphash.MakeSeed(), slots: make([]slot, 16)}
}

func (n *numbered[T]) number(value T) (number int32, isNew bool) {
	hash := uint32(maphash.Comparable(n.seed, value))
	at := n.find(hash, func(number int32) bool { return n.all[number] == value })
	if plusOne := n.slots[at].plusOne; plusOne > 0 {
		return plusOne - 1, false
	}
	n.all = append(n.all, value)
	n.slots[at] = slot{hash, int32(len(n.all))}
	if 4*len(n.all) > 3*len(n.slots) {
		n.grow()
	}
	return int32(len(n.all) - 1), true
}

// find returns the slot of a value with this hash, or the free one where it belongs.
func (n *numbered[T]) find(hash uint32, is func(number int32) bool) uint32 {
	mask := uint32(len(n.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		if s := n.slots[at]; s.plusOne == 0 || s.hash == hash && is(s.plusOne-1) {
			return at
		}
	}
}

func (n *numbered[T]) grow() {
	old := n.slots
	n.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.plusOne > 0 { // values are distinct: only a free slot will do
			n.slots[n.find(s.hash, func(int32) bool { return false })] = s
		}
	}
}
