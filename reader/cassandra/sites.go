package cassandra

import (
	"context"
	"iter"

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

// Values implements stats.Store.
func (s *Store) Values(ctx context.Context, site string, month models.Millis, feature string) iter.Seq2[string, error] {
	return rowsOf(ctx, s, "the values of a feature", scanName, s.cql.values, site, month.Time(), feature, models.NameBuckets())
}

// Sites implements stats.Store.
func (s *Store) Sites(ctx context.Context, month models.Millis) iter.Seq2[string, error] {
	return rowsOf(ctx, s, "the sites of a month", scanName, s.cql.sites, month.Time())
}
