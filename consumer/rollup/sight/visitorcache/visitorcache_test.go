package visitorcache

import (
	"testing"

	"footfall/consumer/eventlog"
	"footfall/models"
)

func TestCache(t *testing.T) {
	r := New(2)
	id := func(n uint64) eventlog.Fingerprint { return eventlog.Fingerprint{n, 7} }
	at := func(n int) models.Position { return models.Position{Topic: "t", Partition: n, Offset: int64(10 * n)} }
	f := func(n int, want bool) {
		t.Helper()
		if got, known := r.Get(id(uint64(n))); known != want || known && got != at(n) {
			t.Errorf("visitor %d: %v, %v; want known %v", n, got, known, want)
		}
	}
	f(1, false)
	r.Add(id(1), at(1))
	r.Add(id(2), at(2))
	f(1, true)
	r.Add(id(3), at(3)) // evicts 2, which was asked about longest ago
	f(1, true)
	f(2, false)
	f(3, true)
	r.Purge()
	f(1, false)
}

// Visitors that the LRU evicts are found in the ring. A hit in the ring's older half promotes them back into the LRU.
func TestCacheWithARing(t *testing.T) {
	const size = 10_000
	r := New(size)
	id := func(n int) eventlog.Fingerprint { return eventlog.Fingerprint{uint64(n % 100), uint64(n) + 1} } // many begin alike
	at := func(n int) models.Position { return models.Position{Topic: "t", Partition: n % 3, Offset: int64(n)} }
	known := func(n int) bool {
		got, known := r.Get(id(n))
		if known && got != at(n) {
			t.Fatalf("visitor %d is cached at %v", n, got)
		}
		return known
	}
	for n := range size {
		r.Add(id(n), at(n))
	}
	if r.front.Len() != size/8 {
		t.Errorf("%d visitors in the LRU, want %d", r.front.Len(), size/8)
	}
	for n := range 10 { // the oldest: all are promoted, and others evicted
		if !known(n) {
			t.Fatalf("visitor %d of %d is forgotten", n, size)
		}
	}
	for n := size; n < 3*size/2; n++ {
		r.Add(id(n), at(n))
	}
	for n, want := range map[int]bool{0: true, 9: true, 20: false, size / 4: false, size - 1: true, 3*size/2 - 1: true, 3 * size / 2: false} {
		if known(n) != want {
			t.Errorf("visitor %d: known %v, want %v", n, !want, want)
		}
	}
	r.Purge()
	for _, n := range []int{0, size - 1, 3*size/2 - 1} {
		if known(n) {
			t.Errorf("visitor %d is known after the purge", n)
		}
	}
}

// A position that does not fit is not cached, nor one without an offset, of a row that was inserted by hand.
func TestPositionsThatDoNotFitAreNotCached(t *testing.T) {
	r := New(2)
	for i, at := range []models.Position{{Partition: -1, Offset: -1}, {Topic: "t", Offset: 1 << 48}} {
		r.Add(eventlog.Fingerprint{1, uint64(i)}, at)
		if got, known := r.Get(eventlog.Fingerprint{1, uint64(i)}); known {
			t.Errorf("%v is cached as %v", at, got)
		}
	}
	most := models.Position{Topic: "t", Partition: 7, Offset: 1<<48 - 1}
	r.Add(eventlog.Fingerprint{2, 2}, most)
	if got, known := r.Get(eventlog.Fingerprint{2, 2}); !known || got != most {
		t.Errorf("%v is cached as %v, %v", most, got, known)
	}
}

func TestCacheOff(t *testing.T) {
	r := New(0)
	r.Add(eventlog.Fingerprint{1, 2}, models.Position{})
	r.Purge()
	if _, known := r.Get(eventlog.Fingerprint{1, 2}); known {
		t.Error("a cache of size 0 caches a visitor")
	}
}

// How much memory a cached visitor takes: a million of them must fit a small machine.
func BenchmarkMemory(b *testing.B) {
	h := eventlog.NewHasher()
	for b.Loop() {
		r := New(1_000_000)
		for i := range 1_000_000 {
			r.Add(eventlog.FingerprintOf(h, i), models.Position{Topic: "clicks", Partition: i % 6, Offset: int64(i)})
		}
	}
	b.ReportAllocs()
}
