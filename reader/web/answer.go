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
