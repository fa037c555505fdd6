package web

import "testing"

// TestOneKeyLeavesRoom: whoever has one key or share link gets a quarter of the places, however many are free, and others get theirs.
func TestOneKeyLeavesRoom(t *testing.T) {
	p := newPlaces(8)
	f := func(who string, want int) {
		t.Helper()
		got := 0
		for range 9 {
			if p.take(who) {
				got++
			}
		}
		if got != want {
			t.Errorf("%q got %d places, want %d", who, got, want)
		}
	}
	f("one", 2)
	f("two", 2)
	f("", 4) // where everybody may read nobody is told apart
	f("three", 0)
	p.release("one")
	f("one", 1)
	p.release("")
	f("three", 1)
	if len(p.held) != 4 {
		t.Errorf("%d holders are remembered, want 4", len(p.held))
	}
	p.release("three")
	if _, ok := p.held["three"]; ok {
		t.Error("a holder without a place is remembered")
	}
}
