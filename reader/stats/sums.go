package stats

import "iter"

// summed adds up points to those of a larger unit. Only what adds up may be given to it. Points are oldest first.
func summed(by Unit, points iter.Seq2[Point, error]) iter.Seq2[Point, error] {
	return grouped(points, func(p Point) Point { return Point{by.Start(p.Start), p.Count} }, func(sum *Point, p Point) bool {
		if sum.Start != p.Start {
			return false
		}
		sum.Count += p.Count
		return true
	})
}

// summedAmounts is summed for amounts.
func summedAmounts(by Unit, rows iter.Seq2[Amount, error]) iter.Seq2[Amount, error] {
	return grouped(rows, func(a Amount) Amount { return Amount{by.Start(a.Start), a.Num, a.Sum} }, func(sum *Amount, a Amount) bool {
		if sum.Start != a.Start {
			return false
		}
		sum.Num, sum.Sum = sum.Num+a.Num, sum.Sum+a.Sum
		return true
	})
}

// grouped puts neighbours together: begin makes the first of a group, add says whether the next belongs to it and adds it. A group
// that an error interrupts is not told: it would be a part of a sum.
func grouped[T any](rows iter.Seq2[T, error], begin func(T) T, add func(*T, T) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var group T
		some := false
		for row, err := range rows {
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			row = begin(row)
			if some && add(&group, row) {
				continue
			}
			if some && !yield(group, nil) {
				return
			}
			group, some = row, true
		}
		if some {
			yield(group, nil)
		}
	}
}
