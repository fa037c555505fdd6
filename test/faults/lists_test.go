package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"footfall/test/e2e/oracle"
)

// listed is what the lists name, in the form of the oracle's cells: a day of a link, and the beginning of the cells of a site or a value.
func listed(ctx context.Context, session *gocql.Session, suffix string) (map[string]bool, error) {
	names := map[string]bool{}
	each := func(query string, name func() string, into ...any) error {
		scanner := session.Query(fmt.Sprintf(query, suffix)).WithContext(ctx).PageSize(5000).Iter().Scanner()
		for scanner.Next() {
			if err := scanner.Scan(into...); err != nil {
				return err
			}
			names[name()] = true
		}
		return scanner.Err()
	}
	var at time.Time
	var name, feature, value string
	err := each("SELECT short_url, day FROM urlshortener%s.links_by_day",
		func() string { return oracle.Name("urlshortener.daycounters", "short_url", name, "day", at) }, &name, &at)
	if err == nil {
		err = each("SELECT siteId, month_interval_start FROM cardinality%s.sites_by_month", func() string { return countsOf(name, at, "", "") }, &name, &at)
	}
	if err == nil {
		err = each("SELECT siteId, month_interval_start, feature, value FROM cardinality%s.values_by_month", func() string {
			if feature == "feature1" {
				return countsOf(name, at, value, "")
			}
			return countsOf(name, at, "", value)
		}, &name, &at, &feature, &value)
	}
	if err != nil {
		return nil, fmt.Errorf("reading lists: %w", err)
	}
	return names, nil
}

func countsOf(site string, month time.Time, feature1, feature2 string) string {
	return oracle.Name("cardinality.counts", "siteid", site, "month_interval_start", month, "feature1", feature1, "feature2", feature2)
}

// unlisted are the names of cells that the lists lack, a line each. A list may have a name too many, after a crash.
func unlisted(cells oracle.Cells, names map[string]bool) (lines []string) {
	missing := map[string]bool{}
	for cell := range cells {
		name := cell
		if strings.HasPrefix(cell, "cardinality.counts|") {
			name = cell[:strings.LastIndex(cell, "|metric_type=")]
			if !strings.Contains(name, `|feature1=""|`) && !strings.HasSuffix(name, `|feature2=""`) {
				continue // its site and each of its values have cells of their own
			}
		} else if !strings.HasPrefix(cell, "urlshortener.daycounters|") {
			continue
		}
		if !names[name] {
			missing[name] = true
		}
	}
	for name := range missing {
		lines = append(lines, name+": not listed")
	}
	slices.Sort(lines)
	return lines
}

func TestUnlisted(t *testing.T) {
	month := time.Date(2018, 10, 1, 0, 0, 0, 0, time.UTC)
	day := oracle.Name("urlshortener.daycounters", "short_url", "abc", "day", month)
	const more = `|metric_type="month_views"|interval_start=2018-10-01T00:00:00Z`
	site, value, page := countsOf("shop", month, "", ""), countsOf("shop", month, `|feature1=""|`, ""), countsOf("shop", month, "", "/")
	cells := oracle.Cells{day: 1, site + more: 1, value + more: 1, page + more: 1, countsOf("shop", month, "a", "/") + more: 1,
		oracle.Name("urlshortener.botcounter", "short_url", "bots"): 1}
	all := map[string]bool{day: true, site: true, value: true, page: true, "one too many": true}
	if got := unlisted(cells, all); len(got) > 0 {
		t.Errorf("with all names these are missed: %q", got)
	}
	for _, name := range []string{day, site, value, page} {
		all[name] = false
		if got := unlisted(cells, all); len(got) != 1 || got[0] != name+": not listed" {
			t.Errorf("without %s these are missed: %q", name, got)
		}
		all[name] = true
	}
}
