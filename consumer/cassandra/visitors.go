package cassandra

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gocql/gocql"

	"footfall/consumer/store"
	"footfall/internal/cql"
	"footfall/models"
)

// sameLink tells whether two sightings of a list are in one partition.
func sameLink(sightings []models.Sighting) func(a, b requestPart) bool {
	return func(a, b requestPart) bool { return sightings[a.index].Name == sightings[b.index].Name }
}

// placed makes the request part of each sighting of a link. Neighbours in the list often are of one link, and then share the token.
func placed(sightings []models.Sighting, perRow int) []requestPart {
	list := make([]requestPart, len(sightings))
	for i, s := range sightings {
		list[i] = requestPart{index: int32(i), bytes: int32(perRow + len(s.Visitor))}
		if i > 0 && s.Name == sightings[i-1].Name {
			list[i].token = list[i-1].token
		} else {
			list[i].token = keyToken(models.Key{Keyspace: models.URLShortener, Name: s.Name})
		}
	}
	return list
}

// lookups packs sightings into reads of several links. A read asks each of its partitions for all of its visitors, so it must have few: with the texts
// about a hundred.
func lookups(sightings []models.Sighting) [][]requestPart {
	return packRequests(placed(sightings, requestBytes/128), rowsPerRequest, sameLink(sightings))
}

// FirstSeen implements store.Store: one read for many visitors.
func (s *Store) FirstSeen(ctx context.Context, sightings []models.Sighting) ([]models.Position, error) {
	if err := store.OfLinks(sightings); err != nil {
		return nil, fmt.Errorf("looking up visitors: %w", err)
	}
	first := make([]models.Position, len(sightings)) // at most one goroutine writes each element
	asks := lookups(sightings)
	err := s.each(ctx, len(asks), func(ctx context.Context, i int) error {
		return s.look(ctx, sightings, asks[i], func(i int32, at models.Position) { first[i] = at })
	})
	if err != nil {
		return nil, fmt.Errorf("looking up visitors: %w", markDisconnected(err))
	}
	return first, nil
}

// look does one read of lookups and tells the positions that it finds.
func (s *Store) look(ctx context.Context, sightings []models.Sighting, ask []requestPart, found func(i int32, at models.Position)) error {
	type row struct{ link, ip string }
	wanted := make(map[row]int32, len(ask))
	var links, ips []string
	for i, part := range ask {
		of := sightings[part.index]
		wanted[row{of.Name, of.Visitor}] = part.index
		if ips = append(ips, of.Visitor); i == 0 || of.Name != links[len(links)-1] {
			links = append(links, of.Name)
		}
	}
	slices.Sort(ips)
	query := s.query(ctx, kindLookup, s.cql.seen, links, slices.Compact(ips))
	query.RoutingKey([]byte(links[0])) // gocql derives none from IN
	var seen row
	var topic string
	var partition *int
	var offset *int64
	return cql.Each(query, func() error {
		index, asked := wanted[seen]
		if !asked { // the read was about this IP on another link
			return nil
		}
		at := models.Position{Partition: -1, Offset: -1} // a row inserted by hand: the visitor was seen, but by no event of the log
		if topic != "" && partition != nil && offset != nil {
			at = models.Position{Topic: topic, Partition: *partition, Offset: *offset}
		}
		found(index, at)
		return nil
	}, &seen.link, &seen.ip, &topic, &partition, &offset)
}

// Remember implements store.Store: one batch for the visitors of a few links. It needs no lightweight transaction: one consumer decides
// about a visitor, and if two take themselves for the owner of a partition, both write the same values.
func (s *Store) Remember(ctx context.Context, sightings []models.Sighting, first []models.Position) error {
	if err := store.OfLinks(sightings); err != nil {
		return fmt.Errorf("remembering visitors: %w", err)
	}
	const perRow = 100 // bytes as Cassandra counts: three cells with their timestamps
	err := s.eachBatch(ctx, placed(sightings, perRow), rowsPerRequest, sameLink(sightings), func(ctx context.Context, together []requestPart) error {
		return s.remember(ctx, sightings, first, together)
	})
	if err != nil {
		return fmt.Errorf("remembering visitors: %w", markDisconnected(err))
	}
	return nil
}

// remember writes one batch.
func (s *Store) remember(ctx context.Context, sightings []models.Sighting, first []models.Position, together []requestPart) error {
	batch := s.newBatch(ctx, kindVisitors, gocql.UnloggedBatch)
	batch.Entries = make([]gocql.BatchEntry, 0, len(together))
	for _, part := range together {
		sighting, at := &sightings[part.index], &first[part.index]
		args := append(make([]any, 0, 6), sighting.Name, sighting.Visitor, at.Topic, at.Partition, at.Offset)
		statement := s.cql.remember
		if s.ipTTL > 0 {
			statement, args = s.cql.rememberUntil, append(args, secondsLeft(sighting.Visitor, s.ipTTL, time.Now()))
		}
		batch.Query(statement, args...)
	}
	return s.session.ExecuteBatch(batch)
}

// ExpireIPs gives rows of links' visitors a TTL: a row that is written from now on expires that long after the period in the visitor's name.
// Rows of names without a period stay. Call it before the store is used. Default: all rows stay.
func (s *Store) ExpireIPs(after time.Duration) { s.ipTTL = after }

// farAhead is longer than any period: no producer makes such a name, and Cassandra refuses TTLs of decades.
const farAhead = 62 * 24 * time.Hour

// secondsLeft is the TTL of a visitor's row; 0: it stays. A row that should have expired by now stays for after, since repairs may need it.
func secondsLeft(visitor string, after time.Duration, now time.Time) int {
	end, periodic := models.PeriodEnd(visitor)
	if !periodic || end.Sub(now) > farAhead {
		return 0
	}
	left := end.Add(after).Sub(now)
	if left < after {
		left = after
	}
	return int(left/time.Second) + 1
}
