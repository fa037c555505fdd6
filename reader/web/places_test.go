package web

import "testing"

// TestOneKeyLeavesRoom: whoever has one key or share link leaves room for others, however many places are free.
func TestOneKeyLeavesRoom(t *testing.T) {
	p := newPlaces(9)
	f := func(who string, want int) {
		t.Helper()
		got := 0
		for p.take(who, 1) {
			got++
		}
		if got != want {
			t.Errorf("%q got %d places, want %d", who, got, want)
		}
	}
	f("one", 6)
	f("two", 2)
	f("", 1) // where everybody may read nobody is told apart
	f("three", 0)
	p.release("two", 1)
	f("one", 0)
	f("three", 1)
}
