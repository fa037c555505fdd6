package cassandra

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gocql/gocql"

	"footfall/models"
)

// rowsPerRequest bounds the rows of one partition that are read or written in one request. Larger reads and batches gain
// nothing; a batch warns at 5 KiB only when it spans partitions, and these do not.
const rowsPerRequest = 64

// visitorPartition is one Cassandra partition of visitors.
type visitorPartition struct {
	keyspace models.Keyspace
	name     string
	interval string
	start    models.Millis
	bucket   string
}

func partitionOf(s models.Sighting) visitorPartition {
	p := visitorPartition{keyspace: s.Keyspace, name: s.Name, interval: s.Interval, start: s.Start}
	if s.Keyspace == models.Cardinality {
		p.bucket = models.Bucket(s.Visitor)
	}
	return p
}

func (p visitorPartition) args() []any {
	if p.keyspace == models.URLShortener {
		return []any{p.name}
	}
	return []any{p.name, p.interval, p.start.Time(), p.bucket}
}

// requests groups sightings by partition, rowsPerRequest at the most together.
func requests(sightings []models.Sighting) [][]models.Sighting {
	byPartition := map[visitorPartition][]models.Sighting{}
	for _, s := range sightings {
		p := partitionOf(s)
		byPartition[p] = append(byPartition[p], s)
	}
	var out [][]models.Sighting
	for _, group := range byPartition {
		out = slices.AppendSeq(out, slices.Chunk(group, rowsPerRequest))
	}
	return out
}

// FirstSeen implements rollup.Store: one read for many visitors of a partition.
func (s *Store) FirstSeen(ctx context.Context, sightings []models.Sighting) (map[models.Sighting]models.Position, error) {
	var mu sync.Mutex
	found := map[models.Sighting]models.Position{}
	asks := requests(sightings)
	err := s.each(ctx, len(asks), func(ctx context.Context, i int) error {
		return s.look(ctx, asks[i], func(seen models.Sighting, at models.Position) {
			mu.Lock()
			defer mu.Unlock()
			found[seen] = at
		})
	})
	if err != nil {
		return nil, fmt.Errorf("looking up visitors: %w", told(err))
	}
	return found, nil
}

// look reads the rows of sightings that share a partition.
func (s *Store) look(ctx context.Context, ask []models.Sighting, found func(models.Sighting, models.Position)) error {
	seen := ask[0] // its keyspace, name and interval are those of all
	args := append(partitionOf(seen).args(), clusterings(ask))
	features := make([]string, len(s.plan.Features()))
	columns := []any{&seen.Visitor}
	if seen.Keyspace == models.Cardinality {
		for i := range features {
			columns = append(columns, &features[i])
		}
	}
	var topic string
	var partition *int
	var offset *int64
	columns = append(columns, &topic, &partition, &offset)
	scanner := s.session.Query(s.cql.seen[seen.Keyspace], args...).WithContext(ctx).Iter().Scanner()
	for scanner.Next() {
		if err := scanner.Scan(columns...); err != nil {
			return err
		}
		if seen.Keyspace == models.Cardinality {
			seen.Features = models.NewFeatures(features...)
		}
		at := models.Position{Partition: -1, Offset: -1} // a row put there by hand: seen, but by no event of the log
		if partition != nil && offset != nil {
			at = models.Position{Topic: topic, Partition: *partition, Offset: *offset}
		}
		found(seen, at)
	}
	return scanner.Err()
}

// clusterings is the value for IN: the IPs, or tuples of guid and features.
func clusterings(ask []models.Sighting) any {
	if ask[0].Keyspace == models.URLShortener {
		ips := make([]string, len(ask))
		for i, s := range ask {
			ips[i] = s.Visitor
		}
		return ips
	}
	tuples := make([][]string, len(ask))
	for i, s := range ask {
		tuples[i] = append([]string{s.Visitor}, s.Features.Values()...)
	}
	return tuples
}

// Remember implements rollup.Store: one batch for many visitors of a partition, which makes it one mutation. No
// lightweight transaction is needed, since a visitor is decided by one consumer, and two that disagree about who owns the
// partition write the same values.
func (s *Store) Remember(ctx context.Context, first map[models.Sighting]models.Position) error {
	asks := requests(slices.Collect(maps.Keys(first)))
	err := s.each(ctx, len(asks), func(ctx context.Context, i int) error {
		batch := s.session.NewBatch(gocql.UnloggedBatch).WithContext(ctx)
		for _, sighting := range asks[i] {
			args := append(partitionOf(sighting).args(), sighting.Visitor)
			if sighting.Keyspace == models.Cardinality {
				for _, f := range sighting.Features.Values() {
					args = append(args, f)
				}
			}
			at := first[sighting]
			batch.Query(s.cql.remember[sighting.Keyspace], append(args, at.Topic, at.Partition, at.Offset)...)
		}
		return s.session.ExecuteBatch(batch)
	})
	if err != nil {
		return fmt.Errorf("remembering visitors: %w", told(err))
	}
	return nil
}
