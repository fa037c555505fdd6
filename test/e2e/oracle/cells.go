package oracle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Cells maps the name of a cell to its value: the counter, or 1 for a row without one.
type Cells map[string]int64

// Name makes the name of a cell from its table and its key columns, given as name, value, name, value. Text is quoted, so that no value
// can look like another column; times are written in full, in UTC.
func Name(table string, columns ...any) string {
	var b strings.Builder
	b.WriteString(table)
	for i := 0; i+1 < len(columns); i += 2 {
		fmt.Fprintf(&b, "|%s=", columns[i])
		switch v := columns[i+1].(type) {
		case time.Time:
			b.WriteString(v.UTC().Format(time.RFC3339Nano))
		case string:
			b.WriteString(strconv.Quote(v))
		default:
			panic(fmt.Sprintf("no text for a %T", v))
		}
	}
	return b.String()
}

// Diff lists the differences between what a store must hold and what it holds: wrong values, missing cells, and cells that should not be
// there. One line each, sorted.
func Diff(want, got Cells) []string {
	var out []string
	for name, w := range want {
		g, ok := got[name]
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("%s: missing, want %d", name, w))
		case g != w:
			out = append(out, fmt.Sprintf("%s: %d, want %d", name, g, w))
		}
	}
	for name, g := range got {
		if _, ok := want[name]; !ok {
			out = append(out, fmt.Sprintf("%s: %d, want no such cell", name, g))
		}
	}
	slices.Sort(out)
	return out
}
