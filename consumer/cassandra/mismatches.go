package cassandra

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"footfall/consumer/store"
	"footfall/internal/cql"
	"footfall/internal/tables"
	"footfall/models"
)

// maxUnits bounds how many months of sites are in memory at once, and Store.inMemory how many counters of those that are being
// compared.
const (
	maxUnits        = 500_000
	defaultInMemory = 100_000
)

const (
	ringParts        = 256 // that the ring is read in
	mismatchesAtOnce = 16  // parts of the ring, or units, that are read concurrently
)

// CountMismatches implements store.RetireStore. It reads every row that DropVisitors would remove, unit by unit. The buckets of a unit are spread over
// the ring, so it lists the units first: in several passes if they are too many for memory.
func (s *Store) CountMismatches(ctx context.Context, before models.Millis, progress func(string), each func(store.CountMismatch)) error {
	var mu sync.Mutex
	one := func(u store.CountMismatch) {
		mu.Lock()
		defer mu.Unlock()
		each(u)
	}
	for todo := []class{{0, 1}}; len(todo) > 0; {
		last := len(todo) - 1
		listed := newUnits(todo[last], before, maxUnits)
		todo = todo[:last]
		err := cql.AtOnce(ctx, mismatchesAtOnce, ringParts, func(ctx context.Context, number int) error {
			return s.eachPartition(ctx, tokensOf(store.Part{Number: number, Of: ringParts}), func(p visitorPartition) error {
				listed.add(p)
				return nil
			})
		})
		if err == nil {
			err = s.mismatchedUnits(ctx, listed.found, progress, one)
		}
		if err != nil {
			return fmt.Errorf("comparing visitors with their counts: %w", err)
		}
		todo = append(todo, listed.left...)
	}
	return nil
}

func (s *Store) mismatchedUnits(ctx context.Context, found map[unit]*bucketSet, progress func(string), each func(store.CountMismatch)) error {
	started, told, done := time.Now(), time.Now(), 0
	var mu sync.Mutex
	all := slices.Collect(maps.Keys(found))
	return cql.AtOnce(ctx, mismatchesAtOnce, len(all), func(ctx context.Context, i int) error {
		err := s.mismatchedUnit(ctx, all[i], found[all[i]].list(), each)
		mu.Lock()
		defer mu.Unlock()
		if done++; time.Since(told) > 5*time.Second {
			told = time.Now()
			took := time.Since(started)
			progress(fmt.Sprintf("%d of %d months of sites compared, %.0f a second, about %v left", done, len(found),
				float64(done)/took.Seconds(), (took / time.Duration(done) * time.Duration(len(found)-done)).Round(time.Second)))
		}
		return err
	})
}

// counted is one counter of a site's visitors.
type counted struct {
	interval string
	start    models.Millis
	features models.Features
}

// mismatchedUnit reads the rows once for as many counters as fit into memory, and again for the rest: a site may have thousands of pages on each
// day of a month.
func (s *Store) mismatchedUnit(ctx context.Context, u unit, buckets []string, each func(store.CountMismatch)) error {
	for todo := []class{{0, 1}}; len(todo) > 0; {
		last := len(todo) - 1
		rows := newClassed[counted](todo[last], s.inMemory, func(n int64) int { return int(min(n, 1)) })
		todo = todo[:last]
		var mu sync.Mutex
		err := s.each(ctx, len(buckets), func(ctx context.Context, i int) error {
			return s.sightings(ctx, visitorPartition{Site: u.site, Month: u.month, Bucket: buckets[i]}, func(c counted) {
				mu.Lock()
				defer mu.Unlock()
				rows.put(c, func(n int64) int64 { return n + 1 })
			})
		})
		if err == nil {
			err = s.compare(ctx, u.site, rows.found, each)
		}
		if err != nil {
			return err
		}
		todo = append(todo, rows.left...)
	}
	return nil
}

// compare reads the counters and tells those that are not the number of their rows.
func (s *Store) compare(ctx context.Context, site string, rows map[counted]int64, each func(store.CountMismatch)) error {
	counts := models.TableOf(models.Cardinality, models.SiteCounts)
	read := s.schema.Select(counts, `visits`, counts.Partition, counts.Rows)
	all := slices.Collect(maps.Keys(rows))
	return s.each(ctx, len(all), func(ctx context.Context, i int) error {
		key, cell := models.Sighting{
			Keyspace: models.Cardinality, Name: site, Interval: all[i].interval, Start: all[i].start, Features: all[i].features,
		}.Counted()
		args := tables.AppendCell(tables.AppendKey(nil, key, tables.Moment), counts.Rows, cell, tables.Moment)
		var n int64
		if err := cql.One(s.session.Query(read, args...).WithContext(ctx).RetryPolicy(patience), &n); err != nil {
			return err
		}
		if n != rows[all[i]] {
			each(store.CountMismatch{Key: key, Cell: cell, Rows: rows[all[i]], Counted: n})
		}
		return nil
	})
}

// sightings calls each with the counter of every sighting in a partition: once, also if a write that was tried again stands under two combinations.
func (s *Store) sightings(ctx context.Context, p visitorPartition, each func(counted)) error {
	var entry visitorEntry
	table := guidData
	query := s.session.Query(s.schema.Select(table, s.schema.List(table.Rows, table.Values), table.Partition), p.Args()...).WithContext(ctx).
		PageSize(5000).RetryPolicy(patience)
	guid, told := "", map[counted]bool{} // of that visitor, whose entries follow each other
	return cql.Each(query, func() error {
		if entry.GUID != guid {
			guid, told = entry.GUID, map[counted]bool{}
		}
		if first, ok := entry.First(len(s.plan.Features())); ok {
			for s := range first.Sightings(models.Visitor{Site: p.Site, Month: p.Month, GUID: entry.GUID}) {
				if c := (counted{s.Interval, s.Start, s.Features}); !told[c] {
					told[c] = true
					each(c)
				}
			}
		}
		return nil
	}, entry.Columns()...)
}
