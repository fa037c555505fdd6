package web

import (
	"encoding/json"
	"iter"
	"time"

	"footfall/models"
	"footfall/reader/stats"
)

// answer is what a handler found, before it is written in a format.
type answer struct {
	asOf stats.AsOf
	head []field // what a JSON object has besides as_of and the rows
	list *list   // nil: the head is all
}

// field is a name and what encoding/json makes of its value.
type field struct {
	name  string
	value any
}

// list is the rows of an answer.
type list struct {
	name     string   // of the array in JSON
	columns  []string // names of the cells of a row
	rows     iter.Seq2[[]any, error]
	complete *bool // nil: the list is always complete
}

// mapRows turns a sequence into rows. A row is overwritten by the next one. cells appends those of one value.
func mapRows[T any](values iter.Seq2[T, error], cells func([]any, T) []any) iter.Seq2[[]any, error] {
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

func asOfJSON(a stats.AsOf) []byte {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // it is numbers and a time
	}
	return text
}

// instant writes a moment: 2018-10-03T14:00:00Z.
func instant(t models.Millis) string { return t.Time().UTC().Format(time.RFC3339) }

// end writes one end of a range; null if it is open.
func end(t models.Millis) any {
	if t == 0 {
		return nil
	}
	return instant(t)
}
