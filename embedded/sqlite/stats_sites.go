package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"

	"footfall/models"
	"footfall/reader/stats"
)

// writerOf says how the moments of a metric are written.
func writerOf(metric string) func(models.Millis) string {
	if metric == models.HourViews {
		return hourOf
	}
	return day
}

// keyOf are the values of the columns of a key of Counts.
func (s *Stats) keyOf(key stats.SiteKey) []any {
	args := []any{key.Site, day(key.Month)}
	for _, value := range key.Features {
		args = append(args, value)
	}
	return args
}

// Visits implements stats.Store.
func (s *Stats) Visits(ctx context.Context, key stats.SiteKey, metric string, within stats.Range) iter.Seq2[stats.Point, error] {
	from, to := between(within, writerOf(metric))
	return rowsOf(ctx, s.db, "visits", scanPoint, "SELECT interval_start, visits FROM cardinality.Counts WHERE "+s.counts+
		" AND metric_type = ? AND interval_start >= ? AND interval_start < ? ORDER BY interval_start",
		append(s.keyOf(key), metric, from, to)...)
}

// Counts implements stats.Store.
func (s *Stats) Counts(ctx context.Context, key stats.SiteKey) ([]stats.Count, error) {
	scan := func(rows *sql.Rows) (c stats.Count, err error) {
		return c, rows.Scan(&c.Metric, (*moment)(&c.Start), &c.Count)
	}
	return listOf(ctx, s.db, "the counts of a key", scan, "SELECT metric_type, interval_start, visits FROM cardinality.Counts WHERE "+s.counts,
		s.keyOf(key)...)
}

// Ranked implements stats.Store: one statement looks each of the keys up by its primary key. A list of them as JSON takes a fifth of
// the time of a statement for each.
func (s *Stats) Ranked(ctx context.Context, keys []stats.SiteKey, metric string, within stats.Range) ([]int64, error) {
	list := make([][]any, len(keys))
	for i, key := range keys {
		list[i] = s.keyOf(key)
	}
	parameter, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("reading visits of %d keys: %w", len(keys), err)
	}
	from, to := between(within, writerOf(metric))
	counts := make([]int64, len(keys))
	for c, err := range rowsOf(ctx, s.db, "visits", scanRanked, s.ranked, string(parameter), metric, from, to) {
		if err != nil {
			return nil, fmt.Errorf("ranking %d keys: %w", len(keys), err)
		}
		counts[c[0]] += c[1]
	}
	return counts, nil
}

// scanRanked reads the place of a key in its list, and a count.
func scanRanked(rows *sql.Rows) (c [2]int64, err error) { return c, rows.Scan(&c[0], &c[1]) }

// Values implements stats.Store.
func (s *Stats) Values(ctx context.Context, site string, month models.Millis, feature string) iter.Seq2[string, error] {
	return namesOf(ctx, s.db, "the values of a feature", "SELECT value FROM cardinality.values_by_month"+
		" WHERE siteId = ? AND month_interval_start = ? AND feature = ?", "value", site, day(month), feature)
}

// Sites implements stats.Store.
func (s *Stats) Sites(ctx context.Context, month models.Millis, within models.NameRange) iter.Seq2[string, error] {
	return piecesOf(ctx, s.db, "the sites of a month", scanName, "SELECT siteId FROM cardinality.sites_by_month"+
		" WHERE month_interval_start = ? AND siteId <= ? AND siteId >= ? AND siteId IS NOT ? ORDER BY siteId", []any{day(month), within.To},
		[]any{within.From, nil}, func(last string) []any { return []any{last, last} })
}
