package e2e

import (
	"crypto/md5" //nolint:gosec // buckets are made of it
	"fmt"
	"maps"
	"slices"
	"strings"

	"footfall/test/e2e/oracle"
)

// listRows are the rows of a list, which follow from the counters: links from the days they have, sites and values from the keys of Counts
// with no feature or one.
func listRows(list string, cells oracle.Cells) []map[string]string {
	rows := map[string]map[string]string{}
	add := func(row map[string]string) { rows[fmt.Sprint(row)] = row }
	for name := range cells {
		switch table, row := split(name); {
		case table == "urlshortener.daycounters" && list == "urlshortener.links_by_day":
			add(map[string]string{"day": row["day"], "bucket": bucketOf(row["short_url"]), "short_url": row["short_url"]})
		case table == "cardinality.counts" && list == "cardinality.sites_by_month" && row["feature1"]+row["feature2"] == "":
			add(map[string]string{"month_interval_start": row["month_interval_start"], "siteid": row["siteid"]})
		case table == "cardinality.counts" && list == "cardinality.values_by_month" && (row["feature1"] == "") != (row["feature2"] == ""):
			value := row["feature1"] + row["feature2"]
			feature := map[bool]string{true: "feature2", false: "feature1"}[row["feature1"] == ""]
			add(map[string]string{
				"siteid": row["siteid"], "month_interval_start": row["month_interval_start"], "feature": feature, "bucket": bucketOf(value), "value": value,
			})
		}
	}
	return slices.Collect(maps.Values(rows))
}

func bucketOf(name string) string { return fmt.Sprintf("%x", md5.Sum([]byte(name)))[:1] } //nolint:gosec // see the import

// isList tells whether a table is a list of names.
func isList(table string) bool { return strings.Contains(table, "_by_") }
