package cassandra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gocql/gocql"
	"golang.org/x/sync/errgroup"

	"footfall/consumer/store"
	"footfall/models"
)

// maxIntervals bounds how many intervals of sites are in memory at once.
const maxIntervals = 500_000

const (
	ringParts        = 256 // that the ring is read in
	mismatchesAtOnce = 16  // parts of the ring, or intervals, that are read concurrently
)

// CountMismatches implements store.RetireStore. It reads every row that DropVisitors would remove, interval by interval. The buckets of an
// interval are spread over the ring, so it lists the intervals first: in several passes if they are too many for memory.
func (s *Store) CountMismatches(ctx context.Context, before models.Millis, progress func(string), each func(store.CountMismatch)) error {
	var mu sync.Mutex
	one := func(u store.CountMismatch) {
		mu.Lock()
		defer mu.Unlock()
		each(u)
	}
	for todo := []class{{0, 1}}; len(todo) > 0; {
		last := len(todo) - 1
		listed := newIntervals(todo[last], before, maxIntervals)
		todo = todo[:last]
		err := s.inParts(ctx, func(ctx context.Context, b between) error {
			return s.eachVisitorPartition(ctx, b, func(p visitorPartition) error {
				listed.add(p)
				return nil
			})
		})
		if err == nil {
			err = s.mismatchedIntervals(ctx, listed.found, progress, one)
		}
		if err != nil {
			return fmt.Errorf("comparing visitors with their counts: %w", err)
		}
		todo = append(todo, listed.left...)
	}
	return nil
}

// inParts calls do for all parts of the ring, some concurrently.
func (s *Store) inParts(ctx context.Context, do func(context.Context, between) error) error {
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(mismatchesAtOnce)
	for number := range ringParts {
		group.Go(func() error { return do(working, partOfRing(store.Part{Number: number, Of: ringParts})) })
	}
	return group.Wait()
}

func (s *Store) mismatchedIntervals(ctx context.Context, found map[visitorPartition]*bucketSet, progress func(string), each func(store.CountMismatch)) error {
	started, told, done := time.Now(), time.Now(), 0
	var mu sync.Mutex
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(mismatchesAtOnce)
	for interval, buckets := range found {
		if working.Err() != nil {
			break
		}
		group.Go(func() error {
			err := s.mismatchedInterval(working, interval, buckets.list(), each)
			mu.Lock()
			defer mu.Unlock()
			if done++; time.Since(told) > 5*time.Second {
				told = time.Now()
				took := time.Since(started)
				progress(fmt.Sprintf("%d of %d intervals of sites compared, %.0f a second, about %v left", done, len(found),
					float64(done)/took.Seconds(), (took / time.Duration(done) * time.Duration(len(found)-done)).Round(time.Second)))
			}
			return err
		})
	}
	return group.Wait()
}

func (s *Store) mismatchedInterval(ctx context.Context, interval visitorPartition, buckets []string, each func(store.CountMismatch)) error {
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
		err := s.session.Query(s.cql.read[cell.Counter], appendCell(keyArgs(key), cell)...).WithContext(ctx).RetryPolicy(patience).Scan(&n)
		if err != nil && !errors.Is(err, gocql.ErrNotFound) {
			return err
		}
		if n != rows[all[i]] {
			mu.Lock()
			defer mu.Unlock()
			each(store.CountMismatch{Key: key, Cell: cell, Rows: rows[all[i]], Counted: n})
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
	scanner := s.session.Query(`SELECT `+strings.Join(s.plan.Features(), ", ")+` FROM `+s.names.Cardinality+`.GuidData WHERE siteId = ?`+
		` AND interval_size = ? AND interval_start = ? AND bucket = ?`, p.args()...).WithContext(ctx).PageSize(5000).RetryPolicy(patience).Iter().Scanner()
	for scanner.Next() {
		if err := scanner.Scan(columns...); err != nil {
			return nil, err
		}
		rows[models.NewFeatures(features...)]++
	}
	return rows, scanner.Err()
}
