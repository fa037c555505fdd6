package rollup

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestWindow(t *testing.T) {
	h := newHasher()
	w := newWindow(3, 10)
	f := func(id string, offset int64, want bool) {
		t.Helper()
		if got := w.see(fingerprintOf(h, id), offset); got != want {
			t.Errorf("%s at %d: duplicate %v, want %v", id, offset, got, want)
		}
		if w.next != offset+1 {
			t.Errorf("after %d the window is ready for %d", offset, w.next)
		}
	}
	f("a", 10, false)
	f("a", 11, true)
	f("b", 12, false)
	f("a", 14, true)  // three offsets after 11
	f("b", 16, false) // four after 12: out of the window
	f("a", 17, true)
	f("a", 21, false)
	w.pass(22)
	if w.next != 23 {
		t.Errorf("after passing 22 the window is ready for %d", w.next)
	}
}

// A window read from later on decides like one that has read everything: what lies further back than its size does not
// matter.
func TestWindowIsAFunctionOfTheLog(t *testing.T) {
	const size, events = 50, 2000
	h := newHasher()
	rnd := rand.New(rand.NewPCG(1, 2))
	log := make([]fingerprint, events)
	for i := range log {
		log[i] = fingerprintOf(h, fmt.Sprint(rnd.IntN(100)))
	}
	whole := newWindow(size, 0)
	duplicate := make([]bool, events)
	for i, id := range log {
		duplicate[i] = whole.see(id, int64(i))
		naive := false
		for j := max(0, i-size); j < i; j++ {
			naive = naive || log[j] == id
		}
		if duplicate[i] != naive {
			t.Fatalf("offset %d: duplicate %v, want %v", i, duplicate[i], naive)
		}
	}
	if n := len(whole.queue); n > size+1 {
		t.Errorf("the window holds %d occurrences", n)
	}
	for start := 0; start < events; start += 37 {
		from := max(0, start-size)
		late := newWindow(size, int64(from))
		for i := from; i < events; i++ {
			if got := late.see(log[i], int64(i)); i >= start && got != duplicate[i] {
				t.Fatalf("window from %d, offset %d: duplicate %v, want %v", from, i, got, duplicate[i])
			}
		}
	}
}
