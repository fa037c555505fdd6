// Package tables counts made-up events a second time, one by one and without the product's code, into what every table must
// hold. It is pure.
package tables

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Cells maps a row of a table to its counter, or to 1 where the row is there to be there.
type Cells map[string]int64

// Name puts the name of a row together as an analyst would ask for it: the table and its key, such as
// daycounters('abc', '2018-10-01'). A table with two counters has a name for each: amountcounters.sum_values.
func Name(table string, key ...any) string {
	values := make([]string, len(key))
	for i, k := range key {
		switch v := k.(type) {
		case time.Time:
			values[i] = "'" + moment(v) + "'"
		case string:
			values[i] = "'" + strings.ReplaceAll(v, "'", "''") + "'"
		default:
			panic(fmt.Sprintf("no text for a %T", v))
		}
	}
	return table + "(" + strings.Join(values, ", ") + ")"
}

// moment is a date, and the time of day where there is one.
func moment(t time.Time) string {
	t = t.UTC()
	if t.Equal(t.Truncate(24 * time.Hour)) {
		return t.Format("2006-01-02")
	}
	return t.Format("2006-01-02 15:04:05.999")
}

// Diff compares what a store holds with what it must hold, both ways, one line for each row that differs, sorted.
func Diff(want, got Cells) []string {
	var out []string
	for name, w := range want {
		if g, ok := got[name]; !ok {
			out = append(out, fmt.Sprintf("%s: missing, want %d", name, w))
		} else if g != w {
			out = append(out, fmt.Sprintf("%s: %d, want %d", name, g, w))
		}
	}
	for name, g := range got {
		if _, ok := want[name]; !ok {
			out = append(out, fmt.Sprintf("%s: %d, want no such row", name, g))
		}
	}
	slices.Sort(out)
	return out
}
