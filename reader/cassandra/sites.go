package cassandra

import (
	"context"
	"iter"
	"time"

	"github.com/gocql/gocql"

	"footfall/models"
	"footfall/reader/stats"
)

// keyOf are the values of the columns of a key of Counts.
func keyOf(key stats.SiteKey) []any {
	args := []any{key.Site, key.Month.Time()}
	for _, value := range key.Features {
		args = append(args, value)
	}
	return args
}

// Visits implements stats.Store.
func (s *Store) Visits(ctx context.Context, key stats.SiteKey, metric string, within stats.Range) iter.Seq2[stats.Point, error] {
	from, to := between(within)
	return rowsOf(ctx, s, "visits", scanPoint, s.cql.visits, append(keyOf(key), metric, from, to)...)
}

// Counts implements stats.Store: one partition.
func (s *Store) Counts(ctx context.Context, key stats.SiteKey) ([]stats.Count, error) {
	scan := func(row gocql.Scanner) (c stats.Count, err error) {
		var start time.Time
		err = row.Scan(&c.Metric, &start, &c.Count)
		c.Start = millis(start)
		return c, err
	}
	return collected(rowsOf(ctx, s, "the counts of a key", scan, s.cql.counts, keyOf(key)...))
}

// Values implements stats.Store.
func (s *Store) Values(ctx context.Context, site string, month models.Millis, feature string) iter.Seq2[string, error] {
	return rowsOf(ctx, s, "the values of a feature", scanName, s.cql.values, site, month.Time(), feature, models.NameBuckets())
}

// Sites implements stats.Store.
func (s *Store) Sites(ctx context.Context, month models.Millis, within models.NameRange) iter.Seq2[string, error] {
	return rowsOf(ctx, s, "the sites of a month", scanName, s.cql.sites, month.Time(), within.From, within.To)
}
