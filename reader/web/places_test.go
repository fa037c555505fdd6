package web

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"footfall/internal/fair"
)

// TestOneKeyLeavesRoom: whoever has one key or share link leaves room for others, however many places are free.
func TestOneKeyLeavesRoom(t *testing.T) {
	p := fair.NewPlaces[string](9)
	f := func(who string, want int) {
		t.Helper()
		got := 0
		for p.Take(who, 1) {
			got++
		}
		if got != want {
			t.Errorf("%q got %d places, want %d", who, got, want)
		}
	}
	f("one", 6)
	f("two", 2)
	f("three", 1)
	f("four", 0)
	p.Release("two", 1)
	f("one", 0)
	f("four", 1)
}

// TestMadeUpKeysOfAnOpenReader: where everybody may read nobody looks at keys, so places are shared by addresses.
func TestMadeUpKeysOfAnOpenReader(t *testing.T) {
	s := newServer(t, newFake(), open, nil)
	taken := 0
	for i := range 1000 {
		r := httptest.NewRequest("GET", fmt.Sprint("/v1/stats/links/a?share=", i), nil)
		r.RemoteAddr = "203.0.113.7:4711"
		if i%2 == 0 {
			r.Header.Set("Authorization", fmt.Sprint("Bearer ", i))
		}
		if _, ok := s.take(httptest.NewRecorder(), r, 1); ok {
			taken++
		}
	}
	if w := get(s, "/v1/stats/links/a"); w.Code != 200 || taken == 0 || taken == 8 {
		t.Errorf("one client has %d of %d places under made-up keys, and another one gets %d", taken, 8, w.Code)
	}
}
