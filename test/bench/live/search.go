package live

import "math"

// search finds the highest rate that is held: it doubles or halves until one was held and one was not, and then goes between them.
type search struct {
	start  float64
	within float64 // of the two, as a ratio
	most   float64 // held
	least  float64 // not held
}

// lowest is the rate below which nobody wants to know.
const lowest = 10

// next is the rate to try, if the search is not done.
func (s *search) next() (float64, bool) {
	switch {
	case s.most == 0 && s.least == 0:
		return s.start, true
	case s.least == 0:
		return 2 * s.most, true
	case s.most == 0:
		return s.least / 2, s.least/2 >= lowest
	}
	return math.Sqrt(s.most * s.least), s.least/s.most > s.within
}

// note takes what came of a rate.
func (s *search) note(rate float64, held bool) {
	if held {
		s.most = max(s.most, rate)
	} else if s.least == 0 || rate < s.least {
		s.least = rate
	}
}
