package tables

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"footfall/simulator/mock"
)

// WriteText writes the two column families, guid data and monthly counts, as text: a partition key and its only column each, in the order
// of the keys. The column of a guid is how often it came; that of a count, how many guids came.
func WriteText(w io.Writer, site string, visits []mock.Visit) error {
	came, uniques := map[string]*entry{}, map[string]*entry{}
	for _, v := range visits {
		start := firstOfMonth(v.At)
		month := start.Unix()
		for _, kept := range combinations(v.Features) {
			features := strings.Join(kept, ":")
			guid := Name("guid", columns([]any{start, v.GUID}, kept)...)
			if came[guid] == nil {
				came[guid] = &entry{key: fmt.Sprintf("%s:month:%d:%s:%s:", site, month, v.GUID, features), column: "visits"}
			}
			if came[guid].value++; came[guid].value > 1 {
				continue
			}
			count := Name("count", columns([]any{start}, kept)...)
			if uniques[count] == nil {
				uniques[count] = &entry{key: fmt.Sprintf("%s:%d:%s", site, month, features), column: fmt.Sprintf("month_unique:%d:visits", month)}
			}
			uniques[count].value++
		}
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Column Family: '%s_cf_guid_data'\n", site)
	writeEntries(out, came)
	fmt.Fprintf(out, "Column Family: '%s_cf_monthly_data'\n", site)
	writeEntries(out, uniques)
	return out.Flush()
}

// entry is one partition as it is printed. Its key has colons between the values. Values may contain colons too, so two entries may have
// the same key: they are told apart by name.
type entry struct {
	key, column string
	value       int64
}

// writeEntries writes entries in the order of their keys, then of their names.
func writeEntries(out io.Writer, by map[string]*entry) {
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		return cmp.Or(cmp.Compare(by[a].key, by[b].key), cmp.Compare(a, b))
	})
	for _, name := range names {
		e := by[name]
		fmt.Fprintf(out, "Partition Key: '%s'\n=>(column='%s', value='%d')\n", e.key, e.column, e.value)
	}
}
