package eventlog

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func TestWindow(t *testing.T) {
	h := NewHasher()
	w := NewWindow(Reach{3, time.Hour}, 10)
	f := func(id string, offset int64, want bool) {
		t.Helper()
		if got := w.See(FingerprintOf(h, id), offset, time.Time{}); got != want {
			t.Errorf("%s at %d: duplicate %v, want %v", id, offset, got, want)
		}
		if w.Next != offset+1 {
			t.Errorf("after offset %d the window expects %d", offset, w.Next)
		}
	}
	f("a", 10, false)
	f("a", 11, true)
	f("b", 12, false)
	f("a", 14, true)  // three offsets after 11
	f("b", 16, false) // four after 12: out of reach
	f("a", 17, true)
	f("a", 21, false)
	w.Pass(22)
	if w.Next != 23 {
		t.Errorf("after skipping offset 22 the window expects %d", w.Next)
	}
}

// An id that is sent again after more than the age is another event, even within the window's offsets.
func TestWindowForgetsIDsBeyondItsAge(t *testing.T) {
	w, h := NewWindow(Reach{100, time.Hour}, 0), NewHasher()
	offset := int64(0)
	f := func(at time.Duration, want bool) {
		t.Helper()
		if got := w.See(FingerprintOf(h, "a"), offset, time.Time{}.Add(at)); got != want {
			t.Errorf("after %v: duplicate %v, want %v", at, got, want)
		}
		offset++
	}
	f(0, false)
	f(time.Hour, true)
	f(2*time.Hour, true) // the age starts at the last occurrence, duplicate or not
	f(3*time.Hour+time.Second, false)
	f(time.Hour, true) // earlier than the last: the clocks of producers differ
}

// A window that starts later in the log decides like one that has read all of it, once its reach is filled. Some offsets hold no event.
func TestWindowDependsOnTheLogAlone(t *testing.T) {
	const events = 3000
	within := Reach{500, 400 * time.Second}
	h := NewHasher()
	rnd := rand.New(rand.NewPCG(1, 2))
	type entry struct {
		id     Fingerprint
		offset int64
		at     time.Time
	}
	log := make([]entry, events)
	offset := int64(0)
	for i := range log {
		offset += 1 + int64(rnd.IntN(20)/18)
		if i == events/2 {
			offset += 2 * within.Offsets // a gap that is longer than the reach
		}
		log[i] = entry{FingerprintOf(h, fmt.Sprint(rnd.IntN(700))), offset, time.Unix(offset+int64(rnd.IntN(5)), 0)}
	}
	whole := NewWindow(within, 0)
	duplicate := make([]bool, events)
	found := 0
	for i, e := range log {
		duplicate[i] = whole.See(e.id, e.offset, e.at)
		naive := false
		for _, old := range log[:i] {
			if old.id == e.id && old.offset >= e.offset-within.Offsets {
				naive = e.at.Sub(old.at) <= within.Age
			}
		}
		if duplicate[i] != naive {
			t.Fatalf("offset %d: duplicate %v, want %v", e.offset, duplicate[i], naive)
		}
		if naive {
			found++
		}
	}
	if found < events/10 || found > events*9/10 {
		t.Fatalf("%d of %d events are duplicates: this tests little", found, events)
	}
	if n := len(whole.seen.ring); n != int(within.Offsets)+1 {
		t.Errorf("the window has room for %d offsets, want %d", n, within.Offsets+1)
	}
	for start := 0; start < events; start += 37 {
		from := start
		for from > 0 && log[from-1].offset >= log[start].offset-within.Offsets {
			from--
		}
		late := NewWindow(within, log[from].offset)
		for i := from; i < min(start+1000, events); i++ {
			if got := late.See(log[i].id, log[i].offset, log[i].at); i >= start && got != duplicate[i] {
				t.Fatalf("window from %d, offset %d: duplicate %v, want %v", log[from].offset, log[i].offset, got, duplicate[i])
			}
		}
	}
}

// A window whose reach is zero finds no duplicates.
func TestWindowWithoutReach(t *testing.T) {
	w, h := NewWindow(Reach{}, 5), NewHasher()
	for offset := int64(5); offset < 10; offset++ {
		if w.See(FingerprintOf(h, "a"), offset, time.Time{}) {
			t.Errorf("offset %d is a duplicate", offset)
		}
	}
}
