package cassandra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gocql/gocql"

	"footfall/consumer/rollup"
	"footfall/models"
)

// Uneven implements rollup.RetireStore. It reads every row that DropVisitors would remove, interval by interval: in memory are
// the names of the partitions, and the combinations of one interval.
func (s *Store) Uneven(ctx context.Context, before models.Millis, each func(rollup.Uneven)) error {
	buckets := map[visitorPartition][]string{}
	names := map[string]string{} // of buckets: 256 texts, not one each
	err := s.eachVisitorPartition(ctx, func(p visitorPartition) error {
		if models.IntervalEnd(p.interval, p.start) > before {
			return nil
		}
		if _, known := names[p.bucket]; !known {
			names[p.bucket] = p.bucket
		}
		bucket := names[p.bucket]
		p.bucket = ""
		buckets[p] = append(buckets[p], bucket)
		return nil
	})
	for interval, list := range buckets {
		if err == nil {
			err = s.unevenInterval(ctx, interval, list, each)
		}
	}
	if err != nil {
		return fmt.Errorf("comparing visitors with their counts: %w", err)
	}
	return nil
}

func (s *Store) unevenInterval(ctx context.Context, interval visitorPartition, buckets []string, each func(rollup.Uneven)) error {
	var mu sync.Mutex
	rows := map[models.Features]int64{}
	err := s.each(ctx, len(buckets), func(ctx context.Context, i int) error {
		p := interval
		p.bucket = buckets[i]
		found, err := s.combinations(ctx, p)
		mu.Lock()
		defer mu.Unlock()
		for features, n := range found {
			rows[features] += n
		}
		return err
	})
	if err != nil {
		return err
	}
	all := slices.Collect(maps.Keys(rows))
	return s.each(ctx, len(all), func(ctx context.Context, i int) error {
		key, cell := models.Sighting{
			Keyspace: models.Cardinality, Name: interval.name, Interval: interval.interval, Start: interval.start, Features: all[i],
		}.Counted()
		var n int64
		err := s.session.Query(s.cql.read[cell.Counter], appendCell(keyArgs(key), cell)...).WithContext(ctx).Scan(&n)
		if err != nil && !errors.Is(err, gocql.ErrNotFound) {
			return err
		}
		if n != rows[all[i]] {
			mu.Lock()
			defer mu.Unlock()
			each(rollup.Uneven{Key: key, Cell: cell, Rows: rows[all[i]], Counted: n})
		}
		return nil
	})
}

// combinations counts a partition's rows by their features.
func (s *Store) combinations(ctx context.Context, p visitorPartition) (map[models.Features]int64, error) {
	rows := map[models.Features]int64{}
	features := make([]string, len(s.plan.Features()))
	columns := make([]any, len(features))
	for i := range features {
		columns[i] = &features[i]
	}
	scanner := s.session.Query(`SELECT `+strings.Join(s.plan.Features(), ", ")+` FROM `+s.names.cardinality+`.GuidData WHERE siteId = ?`+
		` AND interval_size = ? AND interval_start = ? AND bucket = ?`, p.args()...).WithContext(ctx).PageSize(5000).Iter().Scanner()
	for scanner.Next() {
		if err := scanner.Scan(columns...); err != nil {
			return nil, err
		}
		rows[models.NewFeatures(features...)]++
	}
	return rows, scanner.Err()
}
