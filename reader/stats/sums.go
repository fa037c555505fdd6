package stats

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

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

// addedUp has the sum of each label's rows, in the order of the labels. It has all of them in memory.
func addedUp(rows iter.Seq2[Share, error]) iter.Seq2[Share, error] {
	return func(yield func(Share, error) bool) {
		sums := map[string]int64{}
		for row, err := range rows {
			if err != nil {
				yield(Share{}, err)
				return
			}
			sums[row.Label] += row.Count
		}
		for _, label := range slices.Sorted(maps.Keys(sums)) {
			if !yield(Share{label, sums[label]}, nil) {
				return
			}
		}
	}
}

// merged adds up lists that are in the order of their labels, and stays in that order. It has a row of each list in memory, and the store a page.
func merged(lists []iter.Seq2[Share, error]) iter.Seq2[Share, error] {
	if len(lists) == 1 {
		return lists[0]
	}
	return func(yield func(Share, error) bool) {
		type reading struct {
			next func() (Share, error, bool)
			row  Share
		}
		var open []*reading
		for _, list := range lists {
			next, stop := iter.Pull2(list)
			defer stop()
			open = append(open, &reading{next: next})
		}
		var failed error
		advance := func(r *reading) (over bool) {
			row, err, more := r.next()
			if err != nil {
				failed = err
			}
			r.row = row
			return !more
		}
		open = slices.DeleteFunc(open, advance)
		for failed == nil && len(open) > 0 {
			first := slices.MinFunc(open, func(a, b *reading) int { return strings.Compare(a.row.Label, b.row.Label) })
			sum := Share{Label: first.row.Label}
			open = slices.DeleteFunc(open, func(r *reading) bool {
				if r.row.Label != sum.Label {
					return false
				}
				sum.Count += r.row.Count
				return advance(r)
			})
			if failed == nil && !yield(sum, nil) {
				return
			}
		}
		if failed != nil {
			yield(Share{}, failed)
		}
	}
}
