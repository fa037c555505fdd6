package stats

import "iter"

// Fill puts a point of zero where a series has none, from within.From to within.To, which must both be there and aligned. It makes a
// point for every interval: the caller bounds the range.
func Fill(unit Unit, within Range, points iter.Seq2[Point, error]) iter.Seq2[Point, error] {
	return func(yield func(Point, error) bool) {
		next := within.From
		for p, err := range points {
			if err != nil {
				yield(Point{}, err)
				return
			}
			for ; next < p.Start; next = unit.End(next) {
				if !yield(Point{Start: next}, nil) {
					return
				}
			}
			if !yield(p, nil) {
				return
			}
			next = unit.End(p.Start)
		}
		for ; next < within.To; next = unit.End(next) {
			if !yield(Point{Start: next}, nil) {
				return
			}
		}
	}
}
