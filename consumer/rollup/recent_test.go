package rollup

import (
	"testing"

	"footfall/models"
)

func TestRecent(t *testing.T) {
	r := newRecent(2)
	id := func(n uint64) fingerprint { return fingerprint{n, 7} }
	at := func(n int) models.Position { return models.Position{Topic: "t", Partition: n, Offset: int64(10 * n)} }
	f := func(n int, want bool) {
		t.Helper()
		if got, known := r.get(id(uint64(n))); known != want || known && got != at(n) {
			t.Errorf("visitor %d: %v, %v; want known %v", n, got, known, want)
		}
	}
	f(1, false)
	r.add(id(1), at(1))
	r.add(id(2), at(2))
	f(1, true)
	r.add(id(3), at(3)) // there is room for two; 2 was asked about longest ago
	f(1, true)
	f(2, false)
	f(3, true)
	r.purge()
	f(1, false)
}

// Two visitors whose fingerprints begin alike are told apart by what follows.
func TestRecentTellsTwinsApart(t *testing.T) {
	r := newRecent(2)
	a, b := fingerprint{5, 1}, fingerprint{5, 2}
	r.add(a, models.Position{Topic: "t", Offset: 1})
	if at, known := r.get(b); known {
		t.Errorf("the twin is said to be at %v", at)
	}
	r.add(b, models.Position{Topic: "t", Offset: 2})
	if at, known := r.get(b); !known || at.Offset != 2 {
		t.Errorf("the twin: %v, %v", at, known)
	}
	if at, known := r.get(a); known {
		t.Errorf("the first is said to be at %v", at)
	}
}

func TestRecentOfNobody(t *testing.T) {
	r := newRecent(0)
	r.add(fingerprint{1, 2}, models.Position{})
	r.purge()
	if _, known := r.get(fingerprint{1, 2}); known {
		t.Error("somebody is remembered where there is no room")
	}
}

// What a remembered visitor weighs: a million of them must fit a small machine.
func BenchmarkRecentMemory(b *testing.B) {
	h := newHasher()
	for b.Loop() {
		r := newRecent(1_000_000)
		for i := range 1_000_000 {
			r.add(fingerprintOf(h, i), models.Position{Topic: "clicks", Partition: i % 6, Offset: int64(i)})
		}
	}
	b.ReportAllocs()
}
