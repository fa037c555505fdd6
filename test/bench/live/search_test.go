package live

import "testing"

func TestSearchFindsTheRate(t *testing.T) {
	for _, limit := range []float64{20, 99, 100, 640, 3900, 15_000} {
		s, steps := search{start: 500, within: 1.1}, 0
		for rate, more := s.next(); more; rate, more = s.next() {
			s.note(rate, rate <= limit)
			if steps++; steps > 12 {
				t.Fatalf("limit %.0f: %d steps", limit, steps)
			}
		}
		if s.most > limit || s.most*1.1 < limit {
			t.Errorf("limit %.0f: found %.0f after %d steps", limit, s.most, steps)
		}
	}
}

func TestSearchGivesUpNearZero(t *testing.T) {
	s := search{start: 100, within: 1.1}
	for range 4 {
		if rate, more := s.next(); more {
			s.note(rate, false)
		}
	}
	if rate, more := s.next(); more || s.most != 0 {
		t.Errorf("goes on at %f", rate)
	}
}
