package cassandra

import (
	"fmt"
	"hash/maphash"
	"strconv"
	"sync"

	"footfall/models"
)

// class is a subset of all intervals: those whose hash modulo modulus is remainder.
type class struct{ remainder, modulus uint64 }

// intervals collects those intervals of a class that end before a moment, with their buckets. When there are more than most, it halves its
// class, and lists the other half in left for a later pass. Safe for concurrent use.
type intervals struct {
	class
	before models.Millis
	most   int

	mu    sync.Mutex
	found map[visitorPartition]*bucketSet // by partition, without its bucket
	left  []class
}

func newIntervals(c class, before models.Millis, most int) *intervals {
	return &intervals{class: c, before: before, most: most, found: map[visitorPartition]*bucketSet{}}
}

// hashSeed is the same for all passes.
var hashSeed = maphash.MakeSeed()

func (l *intervals) add(p visitorPartition) {
	if models.IntervalEnd(p.interval, p.start) > l.before {
		return
	}
	bucket := p.bucket
	p.bucket = ""
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.has(p) {
		return
	}
	if l.found[p] == nil {
		l.found[p] = &bucketSet{}
	}
	l.found[p].add(bucket)
	for len(l.found) > l.most {
		l.halve()
	}
}

func (l *intervals) has(p visitorPartition) bool {
	return maphash.Comparable(hashSeed, p)%l.modulus == l.remainder
}

func (l *intervals) halve() {
	other := class{l.remainder + l.modulus, 2 * l.modulus}
	l.modulus *= 2
	l.left = append(l.left, other)
	for p := range l.found {
		if !l.has(p) {
			delete(l.found, p)
		}
	}
}

// bucketSet is a set of bucket names: the 256 regular ones as bits, and others, which somebody inserted by hand.
type bucketSet struct {
	bits  [4]uint64
	other []string
}

func (b *bucketSet) add(name string) {
	n, err := strconv.ParseUint(name, 16, 8)
	if err != nil || bucketName(int(n)) != name {
		b.other = append(b.other, name)
		return
	}
	b.bits[n/64] |= 1 << (n % 64)
}

func (b *bucketSet) list() []string {
	names := append([]string(nil), b.other...)
	for n := range 256 {
		if b.bits[n/64]&(1<<(n%64)) != 0 {
			names = append(names, bucketName(n))
		}
	}
	return names
}

func bucketName(n int) string { return fmt.Sprintf("%02x", n) }
