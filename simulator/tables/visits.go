package tables

import (
	"crypto/md5"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"footfall/simulator/mock"
)

// Metrics are the metric types that Counts may have, and the dimensions of monthcounters.
var Metrics = append([]string{"month_unique", "week_unique", "day_unique", "month_views", "day_views", "hour_views", "country", "referrer"}, mock.AgentDimensions[:]...)

// AddVisits adds the rows of a site's visits to Counts, and to GuidData as it was described: a row for each interval and combination. It adds those
// of the metrics that are kept.
func (c Cells) AddVisits(site string, metrics []string, visits []mock.Visit) {
	keeps := func(metric string) bool { return slices.Contains(metrics, metric) }
	for _, v := range visits {
		month, week, day := firstOfMonth(v.At), monday(v.At), midnight(v.At)
		for _, kept := range combinations(v.Features) {
			count := func(month time.Time, metric string, start time.Time) {
				c[Name("Counts", columns([]any{site, month}, kept, metric, start)...)]++
			}
			for _, u := range []struct {
				size         string
				start, month time.Time
			}{{"month", month, month}, {"week", week, firstOfMonth(week)}, {"day", day, month}} {
				metric := u.size + "_unique"
				if !keeps(metric) {
					continue
				}
				seen := Name("GuidData", columns([]any{site, u.size, u.start, bucket(v.GUID), v.GUID}, kept)...)
				if c[seen] == 0 {
					c[seen] = 1
					count(u.month, metric, u.start)
				}
			}
			if fixed(kept) > 1 {
				continue // views of two features together are not kept
			}
			for metric, start := range map[string]time.Time{
				"month_views": month, "day_views": day, "hour_views": v.At.UTC().Truncate(time.Hour),
			} {
				if keeps(metric) {
					count(month, metric, start)
				}
			}
		}
	}
}

// AddSeen adds the rows that an entry of GuidData stands for. seen is its list: the day, what was new, and the features.
func (c Cells) AddSeen(site, bucket, guid string, seen []string) error {
	if len(seen) < 2 {
		return fmt.Errorf("an entry of GuidData has %q: want a day, what was new, and features", seen)
	}
	day, err := time.Parse(time.DateOnly, seen[0])
	if err != nil {
		return fmt.Errorf("an entry of GuidData has no day: %w", err)
	}
	starts := map[string]time.Time{"month": firstOfMonth(day), "week": monday(day), "day": day}
	for _, part := range strings.Fields(seen[1]) {
		size, digits, _ := strings.Cut(part, ":")
		set, err := strconv.ParseUint(digits, 16, 64)
		start, known := starts[size]
		if err != nil || !known {
			return fmt.Errorf("an entry of GuidData was new in %q", part)
		}
		for combination := 0; set > 0; combination, set = combination+1, set>>1 {
			if set&1 == 0 {
				continue
			}
			kept := slices.Clone(seen[2:])
			for i := range kept {
				if combination>>i&1 == 0 {
					kept[i] = ""
				}
			}
			name := Name("GuidData", columns([]any{site, size, start, bucket, guid}, kept)...)
			if c[name] != 0 {
				return fmt.Errorf("two rows %s", name)
			}
			c[name] = 1
		}
	}
	return nil
}

// columns makes a key, with the features in the middle.
func columns(before []any, features []string, after ...any) []any {
	for _, f := range features {
		before = append(before, f)
	}
	return append(before, after...)
}

// combinations are all ways to keep some of the values, with "" for the others. An empty value cannot be kept.
func combinations(values []string) [][]string {
	out := [][]string{{}}
	for _, v := range values {
		var longer [][]string
		for _, beginning := range out {
			longer = append(longer, append(slices.Clone(beginning), ""))
			if v != "" {
				longer = append(longer, append(slices.Clone(beginning), v))
			}
		}
		out = longer
	}
	return out
}

// fixed counts the features that are kept.
func fixed(kept []string) (n int) {
	for _, v := range kept {
		if v != "" {
			n++
		}
	}
	return n
}

// bucket is the first two hex digits of the guid's MD5, as `md5sum | cut -c1-2` prints.
func bucket(guid string) string { return fmt.Sprintf("%x", md5.Sum([]byte(guid)))[:2] }

func midnight(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func firstOfMonth(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// monday is the first day of t's week.
func monday(t time.Time) time.Time {
	day := midnight(t)
	for day.Weekday() != time.Monday {
		day = day.AddDate(0, 0, -1)
	}
	return day
}
