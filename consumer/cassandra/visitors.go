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

// rowsPerRequest bounds the rows that are read or written in one request. Larger reads and batches gain nothing.
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

// parts groups sightings by partition, rowsPerRequest at the most together.
func parts(sightings []models.Sighting) [][]models.Sighting {
	byPartition := map[visitorPartition][]models.Sighting{}
	for _, s := range sightings {
		p := partitionOf(s)
		byPartition[p] = append(byPartition[p], s)
	}
	out := make([][]models.Sighting, 0, len(byPartition))
	for _, group := range byPartition {
		out = slices.AppendSeq(out, slices.Chunk(group, rowsPerRequest))
	}
	return out
}

// requests puts parts together that lie next to each other on the ring. Each row takes perRow bytes of a request, beside its
// own texts.
func requests(sightings []models.Sighting, perRow int) [][]models.Sighting {
	all := parts(sightings)
	list := make([]sized, len(all))
	for i, part := range all {
		p := partitionOf(part[0])
		list[i] = sized{i, p.keyspace, p.token(), 0}
		for _, s := range part {
			list[i].bytes += perRow + len(s.Visitor) + len(s.Features)
		}
	}
	var out [][]models.Sighting
	for _, indices := range grouped(list) {
		var together []models.Sighting
		for _, i := range indices {
			together = append(together, all[i]...)
		}
		out = append(out, together)
	}
	return out
}

// lookups puts parts together that one read can ask for: of several links, or of several buckets of a site's interval. Such a
// read asks every partition for all the visitors, so these must be few.
func lookups(sightings []models.Sighting) [][]models.Sighting {
	const rowBytes = requestBytes / 128 // and their texts: some fifty visitors of sites, a hundred of links
	together := map[visitorPartition][]models.Sighting{}
	for _, s := range sightings {
		p := visitorPartition{keyspace: s.Keyspace} // all links
		if s.Keyspace == models.Cardinality {
			p.name, p.interval, p.start = s.Name, s.Interval, s.Start // all buckets
		}
		together[p] = append(together[p], s)
	}
	var out [][]models.Sighting
	for _, group := range together {
		out = append(out, requests(group, rowBytes)...)
	}
	return out
}

// FirstSeen implements rollup.Store: one read for many visitors.
func (s *Store) FirstSeen(ctx context.Context, sightings []models.Sighting) (map[models.Sighting]models.Position, error) {
	var mu sync.Mutex
	found := map[models.Sighting]models.Position{}
	asks := lookups(sightings)
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

// look reads the rows of sightings of a few links, or of a few buckets.
func (s *Store) look(ctx context.Context, ask []models.Sighting, found func(models.Sighting, models.Position)) error {
	seen := ask[0] // its keyspace and interval are those of all
	first := partitionOf(seen)
	args := first.args()
	args[len(args)-1] = lastOf(ask)
	columns := []any{&seen.Name, &seen.Visitor}
	features := make([]string, len(s.plan.Features()))
	if seen.Keyspace == models.Cardinality {
		columns = columns[1:]
		for i := range features {
			columns = append(columns, &features[i])
		}
	}
	wanted := make(map[models.Sighting]bool, len(ask))
	for _, s := range ask {
		wanted[s] = true
	}
	var topic string
	var partition *int
	var offset *int64
	columns = append(columns, &topic, &partition, &offset)
	query := s.query(ctx, kindLookup, s.cql.seen[seen.Keyspace], append(args, clusterings(ask))...)
	scanner := query.RoutingKey(first.key()).Iter().Scanner() // the driver finds none in a list
	for scanner.Next() {
		if err := scanner.Scan(columns...); err != nil {
			return err
		}
		if seen.Keyspace == models.Cardinality {
			seen.Features = models.NewFeatures(features...)
		}
		if !wanted[seen] { // an IP that was asked for on another link
			continue
		}
		at := models.Position{Partition: -1, Offset: -1} // a row put there by hand: seen, but by no event of the log
		if partition != nil && offset != nil {
			at = models.Position{Topic: topic, Partition: *partition, Offset: *offset}
		}
		found(seen, at)
	}
	return scanner.Err()
}

// lastOf lists what the partitions of sightings, which lie next to each other, differ in: the last column of their key, a
// link or a bucket.
func lastOf(ask []models.Sighting) []string {
	out := make([]string, len(ask))
	for i, s := range ask {
		p := partitionOf(s)
		out[i] = p.bucket
		if s.Keyspace == models.URLShortener {
			out[i] = p.name
		}
	}
	return slices.Compact(out)
}

// clusterings is the value for IN: the IPs, each once, or tuples of guid and features.
func clusterings(ask []models.Sighting) any {
	if ask[0].Keyspace == models.URLShortener {
		ips := make([]string, len(ask))
		for i, s := range ask {
			ips[i] = s.Visitor
		}
		slices.Sort(ips)
		return slices.Compact(ips)
	}
	tuples := make([][]string, len(ask))
	for i, s := range ask {
		tuples[i] = append([]string{s.Visitor}, s.Features.Values()...)
	}
	return tuples
}

// Remember implements rollup.Store: one batch for the visitors of a few partitions. No lightweight transaction is needed, since
// a visitor is decided by one consumer, and two that disagree about who owns the partition write the same values.
func (s *Store) Remember(ctx context.Context, first map[models.Sighting]models.Position) error {
	const perRow = 100 // as Cassandra counts: three cells with their timestamps
	asks := requests(slices.Collect(maps.Keys(first)), perRow)
	err := s.each(ctx, len(asks), func(ctx context.Context, i int) error {
		err := s.remember(ctx, asks[i], first)
		if !refusedAs(err, gocql.ErrCodeInvalid) {
			return err
		}
		for _, part := range parts(asks[i]) { // this server takes smaller batches only, but for those of one partition
			if err := s.remember(ctx, part, first); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remembering visitors: %w", told(err))
	}
	return nil
}

func (s *Store) remember(ctx context.Context, together []models.Sighting, first map[models.Sighting]models.Position) error {
	batch := s.newBatch(ctx, kindVisitors, gocql.UnloggedBatch)
	for _, sighting := range together {
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
}
