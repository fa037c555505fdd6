package tables

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"footfall/simulator/mock"
)

// WriteText writes the two column families, guid data and monthly counts, as text: a partition key and its one column each,
// in the order of the keys. A guid's column says how often it came; a count's, how many guids did.
func WriteText(w io.Writer, site string, visits []mock.Visit) error {
	came, uniques := map[string]int64{}, map[string]int64{}
	columns := map[string]string{}
	for _, v := range visits {
		month := firstOfMonth(v.At).Unix()
		for _, kept := range combinations(v.Features) {
			features := strings.Join(kept, ":")
			guid := fmt.Sprintf("%s:month:%d:%s:%s:", site, month, v.GUID, features)
			if came[guid]++; came[guid] > 1 {
				continue
			}
			key := fmt.Sprintf("%s:%d:%s", site, month, features)
			uniques[key]++
			columns[key] = fmt.Sprintf("month_unique:%d:visits", month)
		}
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Column Family: '%s_cf_guid_data'\n", site)
	for _, key := range slices.Sorted(maps.Keys(came)) {
		fmt.Fprintf(out, "Partition Key: '%s'\n=>(column='visits', value='%d')\n", key, came[key])
	}
	fmt.Fprintf(out, "Column Family: '%s_cf_monthly_data'\n", site)
	for _, key := range slices.Sorted(maps.Keys(uniques)) {
		fmt.Fprintf(out, "Partition Key: '%s'\n=>(column='%s', value='%d')\n", key, columns[key], uniques[key])
	}
	return out.Flush()
}
