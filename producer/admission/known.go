package admission

import (
	"sync"
	"sync/atomic"
	"time"
)

// ways is the associativity of known: as many hashes as fit into a cache line.
const ways = 8

// nameBits is the part of a hash that identifies a name. The other bits are a tag of the grant under which it was first seen;
// several grants may have the same tag.
const nameBits = 1<<56 - 1

// known is a set of hashes of names that were seen, a set-associative LRU. A new hash evicts from its line: of the grant with the most
// hashes there, the one least recently seen. So a grant that makes up names evicts its own, and each of n grants keeps at least
// an nth of the room. A hash takes eight bytes, a tenth of what a linked LRU takes. It is safe for concurrent use.
type known struct {
	mu    sync.Mutex     // guards writes
	lines [][ways]uint64 // of each line the most recently seen first; 0 is free
}

// newKnown has room for so many, a power of two.
func newKnown(room int) *known { return &known{lines: make([][ways]uint64, room/ways)} }

// admit returns 0 if a hash is known, or if pay returns 0: then it is known from now on. Otherwise it returns how long to wait, as
// pay says.
func (k *known) admit(hash uint64, pay func() (wait time.Duration)) (wait time.Duration) {
	if same(atomic.LoadUint64(&k.line(hash)[0]), hash) { // nearly always; nothing has to change, so it takes no lock
		return 0
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.has(hash) {
		return 0
	}
	if wait = pay(); wait <= 0 {
		k.add(hash)
	}
	return wait
}

func (k *known) line(hash uint64) *[ways]uint64 { return &k.lines[hash&uint64(len(k.lines)-1)] }

func same(a, b uint64) bool { return (a^b)&nameBits == 0 && a != 0 }

// has tells whether a hash is known, and makes it the most recently seen. The caller of this and of add holds mu.
func (k *known) has(hash uint64) bool {
	line := k.line(hash)
	for i, h := range line {
		if same(h, hash) {
			k.first(line, i, h)
			return true
		}
	}
	return false
}

// add remembers a hash that is not known.
func (k *known) add(hash uint64) {
	line := k.line(hash)
	k.first(line, victim(line, hash), hash)
}

// first writes a hash over the one at an index and makes it the first of its line, which others read without a lock.
func (k *known) first(line *[ways]uint64, i int, hash uint64) {
	copy(line[1:i+1], line[:i])
	atomic.StoreUint64(&line[0], hash)
}

// victim is the index that is evicted for a new hash. On a tie the new hash's own grant loses, because the new hash counts for it
// already.
func victim(line *[ways]uint64, hash uint64) int {
	if line[ways-1] == 0 {
		return ways - 1
	}
	found, most := 0, 0
	for i := ways - 1; i >= 0; i-- { // the least recently seen first
		n, own := 0, line[i]&^nameBits == hash&^nameBits
		for _, h := range line {
			if h&^nameBits == line[i]&^nameBits {
				n++
			}
		}
		if n *= 2; own { // counted in halves: one more for the new hash, and a half to lose ties
			n += 3
		}
		if n > most {
			found, most = i, n
		}
	}
	return found
}
