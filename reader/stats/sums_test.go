package stats

import (
	"errors"
	"iter"
	"slices"
	"testing"
)

// rowsOf yields rows, then an error if there is one. It notes in open whether it was left.
func rowsOf(open *int, failed error, rows ...Share) iter.Seq2[Share, error] {
	return func(yield func(Share, error) bool) {
		*open++
		defer func() { *open-- }()
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
		if failed != nil {
			yield(Share{}, failed)
		}
	}
}

func TestListsAreMerged(t *testing.T) {
	down := errors.New("a node is down")
	f := func(what string, most int, lists func(open *int) iter.Seq2[Share, error], wantErr error, want ...Share) {
		t.Helper()
		var got []Share
		var err error
		open := 0
		for row, failed := range lists(&open) {
			if err = failed; err != nil {
				break
			}
			if got = append(got, row); len(got) == most {
				break
			}
		}
		if !slices.Equal(got, want) || !errors.Is(err, wantErr) || open != 0 {
			t.Errorf("%s: %v, %v, %d lists are open; want %v, %v", what, got, err, open, want, wantErr)
		}
	}
	a, b, c := Share{"a", 1}, Share{"b", 2}, Share{"c", 4}
	three := func(failed error) func(*int) iter.Seq2[Share, error] {
		return func(open *int) iter.Seq2[Share, error] {
			return merged([]iter.Seq2[Share, error]{rowsOf(open, nil, a, c), rowsOf(open, nil), rowsOf(open, failed, a, b)})
		}
	}
	f("all", 9, three(nil), nil, Share{"a", 2}, b, c)
	f("the first", 1, three(nil), nil, Share{"a", 2})
	f("one that fails", 9, three(down), down, Share{"a", 2})
	f("one that fails at once", 9, func(open *int) iter.Seq2[Share, error] {
		return merged([]iter.Seq2[Share, error]{rowsOf(open, nil, a), rowsOf(open, down)})
	}, down)
	f("added up", 9, func(open *int) iter.Seq2[Share, error] { return addedUp(rowsOf(open, nil, c, a, c)) }, nil, a, Share{"c", 8})
	f("the first that is added up", 1, func(open *int) iter.Seq2[Share, error] { return addedUp(rowsOf(open, nil, c, a, c)) }, nil, a)
	f("added up until it fails", 9, func(open *int) iter.Seq2[Share, error] { return addedUp(rowsOf(open, down, c, a)) }, down)
}
