package fair

import "testing"

// TestShares: one may have all places while no other wants any. When another does, it gets some, at most as many as the first, and the
// first gets no more until some are free.
func TestShares(t *testing.T) {
	s := NewShares[string](8, 4)
	f := func(who string, want int) {
		t.Helper()
		got, of := 0, s.Of(who)
		for s.Take(of, 1) {
			got++
		}
		if s.Release(of, 0); got != want {
			t.Errorf("%s got %d places, want %d", who, got, want)
		}
	}
	f("one", 8)
	f("two", 2) // of the four that are in reserve: the others are for the next
	f("three", 1)
	f("one", 0)
	if one := s.Of("one"); !s.TakeReserve(one) || s.TakeReserve(one) { // as if it were alone
		t.Error("the last place is not given, or one more")
	} else {
		s.Release(one, 1)
	}
	s.Release(s.Of("one"), 5)
	f("three", 2)
	f("one", 0)
	s.Release(s.Of("one"), 3)
	f("four", 3)
	for who, places := range map[string]int{"two": 2, "three": 3, "four": 3} {
		s.Release(s.Of(who), places)
	}
	if s.Used() != 0 || len(s.holders) != 0 || s.Total() != 12 {
		t.Errorf("%d of %d are taken by %v", s.Used(), s.Total(), s.holders)
	}
}

// TestLargeOnesEndAtTheTotal: what takes several places never makes more than there are, unless it is alone and larger than all.
func TestLargeOnesEndAtTheTotal(t *testing.T) {
	p := NewPlaces[int](64)
	for who := range 20 {
		if got, want := p.Take(who, 8), who < 8; got != want {
			t.Errorf("8 of 64 places for number %d: %v, with %d taken", who, got, p.shares.Used())
		}
	}
	for who := range 8 {
		p.Release(who, 8)
	}
	if !p.Take(1, 100) || p.Take(2, 1) {
		t.Error("what is larger than all gets no turn, or leaves places")
	}
	if p.Release(1, 100); p.shares.Used() != 0 || len(p.shares.holders) != 0 {
		t.Errorf("%d are taken by %v", p.shares.Used(), p.shares.holders)
	}
}
