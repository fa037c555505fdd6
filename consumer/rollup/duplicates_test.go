package rollup

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func TestWindow(t *testing.T) {
	h := newHasher()
	w := newWindow(reach{3, time.Hour}, 10)
	f := func(id string, offset int64, want bool) {
		t.Helper()
		if got := w.see(fingerprintOf(h, id), offset, time.Time{}); got != want {
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

// An id that was sent again later than the age is another event, however few offsets lie between.
func TestWindowHasAnAge(t *testing.T) {
	w, h := newWindow(reach{100, time.Hour}, 0), newHasher()
	offset := int64(0)
	f := func(at time.Duration, want bool) {
		t.Helper()
		if got := w.see(fingerprintOf(h, "a"), offset, time.Time{}.Add(at)); got != want {
			t.Errorf("after %v: duplicate %v, want %v", at, got, want)
		}
		offset++
	}
	f(0, false)
	f(time.Hour, true)
	f(2*time.Hour, true) // the last occurrence counts, itself counted or not
	f(3*time.Hour+time.Second, false)
	f(time.Hour, true) // the clocks of doors differ
}

// A window read from later on decides like one that has read everything: what lies beyond its reach does not matter.
func TestWindowIsAFunctionOfTheLog(t *testing.T) {
	const events = 2000
	within := reach{50, 40 * time.Second}
	h := newHasher()
	rnd := rand.New(rand.NewPCG(1, 2))
	log := make([]fingerprint, events)
	times := make([]time.Time, events)
	for i := range log {
		log[i] = fingerprintOf(h, fmt.Sprint(rnd.IntN(100)))
		times[i] = time.Unix(int64(i+rnd.IntN(5)), 0)
	}
	whole := newWindow(within, 0)
	duplicate := make([]bool, events)
	for i, id := range log {
		duplicate[i] = whole.see(id, int64(i), times[i])
		naive := false
		for j := max(0, i-int(within.offsets)); j < i; j++ {
			if log[j] == id {
				naive = times[i].Sub(times[j]) <= within.age
			}
		}
		if duplicate[i] != naive {
			t.Fatalf("offset %d: duplicate %v, want %v", i, duplicate[i], naive)
		}
	}
	if n := int64(len(whole.queue)); n > within.offsets+1 {
		t.Errorf("the window holds %d occurrences", n)
	}
	for start := 0; start < events; start += 37 {
		from := max(0, start-int(within.offsets))
		late := newWindow(within, int64(from))
		for i := from; i < events; i++ {
			if got := late.see(log[i], int64(i), times[i]); i >= start && got != duplicate[i] {
				t.Fatalf("window from %d, offset %d: duplicate %v, want %v", from, i, got, duplicate[i])
			}
		}
	}
}
