// Package tables computes what every table must hold after made-up events, without the product's code. It is pure.
package tables

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Cells maps a row of a table to its counter, or to 1 if it has none.
type Cells map[string]int64

// Name is the name of a row: the table and its key, spelt as in a query, such as daycounters('abc', '2018-10-01'). A table with two
// counters has a name for each, such as amountcounters.sum_values.
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

// moment formats a time: a date, and the time of day unless it is midnight.
func moment(t time.Time) string {
	t = t.UTC()
	if t.Equal(t.Truncate(24 * time.Hour)) {
		return t.Format("2006-01-02")
	}
	return t.Format("2006-01-02 15:04:05.999")
}

// Diff lists the rows that differ, are missing, or should not be there, one line each, sorted.
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
