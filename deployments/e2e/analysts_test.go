package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"footfall/deployments/e2e/load"
)

// The queries that analysts were promised. They run as they are written, in the analysts' own shells.
const promised = `
SELECT hour, value FROM urlshortener.hourcounters WHERE short_url = 'abc' LIMIT 24;
SELECT day, value FROM urlshortener.daycounters WHERE short_url = 'abc' LIMIT 10;
SELECT country, value FROM urlshortener.countrycounters WHERE short_url = 'abc';
SELECT value FROM urlshortener.uniquecounter WHERE short_url = 'abc';
SELECT ip FROM urlshortener.uniquecounterips WHERE short_url = 'abc';
SELECT visits FROM cardinality.Counts WHERE siteId = 'site1' AND month_interval_start = '2018-10-01'
   AND feature1 = 'facebook.com' AND feature2 = '' AND metric_type = 'month_unique' AND interval_start = '2018-10-01';
SELECT interval_start, visits FROM cardinality.Counts WHERE siteId = 'site1' AND month_interval_start = '2018-10-01'
   AND feature1 = '' AND feature2 = '' AND metric_type = 'day_unique';     -- the month's histogram
`

// TestAnalystsQueries: every query answers what the oracle says, and on Cassandra it reads one partition of one table.
func TestAnalystsQueries(t *testing.T) {
	queries := statements(promised)
	catalogue, err := os.ReadFile(filepath.Join("..", "..", "docs", "queries.cql"))
	if err == nil {
		queries = append(queries, statements(string(catalogue))...)
	} else if !os.IsNotExist(err) {
		t.Fatal(err)
	}
	slices.Sort(queries)
	queries = slices.Compact(queries)

	onEach(t, func(t *testing.T, d deployment) {
		const n = 4000
		want, _ := send(t, d, load.Make(4, n), load.Order(4, n), nil)
		d.settle(t, want)
		for i, got := range d.ask(t, queries) {
			q, err := parseQuery(queries[i])
			if err != nil {
				t.Errorf("the oracle cannot read %s: %v", queries[i], err)
				continue
			}
			want := q.answer(want.Cells())
			if q.table == "urlshortener.latestclicks" {
				want = nil // the load's clicks are of 2018; TestLatestClicks has others
			} else if len(want) == 0 {
				t.Errorf("the load has nothing for %s", queries[i])
			}
			if got = q.rounded(got); !slices.EqualFunc(got, want, slices.Equal[[]string]) {
				t.Errorf("%s\ngot  %q\nwant %q", queries[i], got, want)
			}
		}
		if r, ok := d.(*real); ok {
			r.onePartition(t, queries)
		}
		t.Logf("%d queries", len(queries))
	})
}

// statements splits a file of queries. No literal of theirs holds a semicolon or two dashes.
func statements(text string) []string {
	var bare strings.Builder
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(line, "--")
		bare.WriteString(" " + strings.TrimSpace(code))
	}
	var out []string
	for _, s := range strings.Split(bare.String(), ";") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}
