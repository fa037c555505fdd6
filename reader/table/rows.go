package table

import "iter"

// Rows turns a sequence into rows. A row is overwritten by the next one. cells appends those of one value.
func Rows[T any](values iter.Seq2[T, error], cells func([]any, T) []any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		var row []any
		for v, err := range values {
			if err != nil {
				yield(nil, err)
				return
			}
			if row = cells(row[:0], v); !yield(row, nil) {
				return
			}
		}
	}
}
