package cassandra

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gocql/gocql"

	"footfall/internal/cql"
	"footfall/models"
)

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

// samePartition tells whether two sightings are in one partition. Callers ask if the tokens are equal, so the answer is nearly always yes.
func samePartition(a, b *models.Sighting) bool {
	if a.Name != b.Name || a.Interval != b.Interval || a.Start != b.Start || a.Keyspace != b.Keyspace {
		return false
	}
	return a.Keyspace == models.URLShortener || a.Visitor == b.Visitor || models.Bucket(a.Visitor) == models.Bucket(b.Visitor)
}

// among returns samePartition for the parts of a list.
func among(sightings []models.Sighting) func(a, b requestPart) bool {
	return func(a, b requestPart) bool { return samePartition(&sightings[a.index], &sightings[b.index]) }
}

// placed makes the request part of each sighting. Neighbours in the list are often of one visitor, and then share the token.
func placed(sightings []models.Sighting, perRow int) []requestPart {
	list := make([]requestPart, len(sightings))
	var last models.Sighting
	var buffer []byte
	for i, s := range sightings {
		row := requestPart{index: int32(i), kind: keyspaceNumber(s.Keyspace), bytes: int32(perRow + len(s.Visitor) + len(s.Features))}
		if s.Features = last.Features; i > 0 && s == last {
			row.token = list[i-1].token
		} else {
			buffer = partitionOf(s).appendKey(buffer[:0])
			row.token = cql.Token(buffer)
		}
		list[i], last = row, s
	}
	return list
}

// lookups packs sightings into reads: of several links, or of several buckets of one site's interval. A read asks each of its partitions for
// all of its visitors, so it must have few.
func lookups(sightings []models.Sighting) [][]requestPart {
	const perRow = requestBytes / 128 // with the texts: about fifty visitors of sites, or a hundred of links, per read
	list := placed(sightings, perRow)
	numbers := map[visitorPartition]int32{{keyspace: models.URLShortener}: keyspaceNumber(models.URLShortener)}
	var last visitorPartition
	for i, s := range sightings {
		p := visitorPartition{keyspace: s.Keyspace} // all links
		if s.Keyspace == models.Cardinality {
			p.name, p.interval, p.start = s.Name, s.Interval, s.Start // all buckets
		}
		if i > 0 && p == last {
			list[i].kind = list[i-1].kind
			continue
		}
		number, known := numbers[p]
		if !known {
			number = int32(len(numbers))
			numbers[p] = number
		}
		list[i].kind, last = number, p
	}
	return packRequests(list, rowsPerRequest, among(sightings))
}

// FirstSeen implements store.Store: one read for many visitors. Sightings that are in no visitor's row may have rows of their own.
func (s *Store) FirstSeen(ctx context.Context, sightings []models.Sighting) ([]models.Position, error) {
	first := make([]models.Position, len(sightings)) // at most one goroutine writes each element
	rows := slices.ContainsFunc(sightings, func(s models.Sighting) bool { return s.Keyspace == models.Cardinality })
	if rows {
		var err error
		if rows, err = s.inRows(ctx); err != nil {
			return nil, err
		}
	}
	if !rows { // links, and sites of older tables: nothing to look for elsewhere, and nothing to copy
		if err := s.lookAll(ctx, sightings, first); err != nil {
			return nil, err
		}
		return first, nil
	}
	left, err := s.findInRows(ctx, sightings, first)
	if err != nil {
		return nil, err
	}
	rest, found := make([]models.Sighting, len(left)), make([]models.Position, len(left))
	for i, at := range left {
		rest[i] = sightings[at]
	}
	if err := s.lookAll(ctx, rest, found); err != nil {
		return nil, err
	}
	for i, at := range left {
		first[at] = found[i]
	}
	return first, nil
}

// lookAll sets the positions of those sightings that have rows of their own.
func (s *Store) lookAll(ctx context.Context, sightings []models.Sighting, first []models.Position) error {
	asks := lookups(sightings)
	err := s.each(ctx, len(asks), func(ctx context.Context, i int) error {
		return s.look(ctx, sightings, asks[i], first)
	})
	if err != nil {
		return fmt.Errorf("looking up visitors: %w", markDisconnected(err))
	}
	return nil
}

// rowID identifies a row within one read: link and IP, or guid and features.
type rowID struct{ a, b string }

func rowOf(s models.Sighting) rowID {
	if s.Keyspace == models.URLShortener {
		return rowID{s.Name, s.Visitor}
	}
	return rowID{s.Visitor, string(s.Features)}
}

// look does one read of lookups and sets the positions that it finds in first.
func (s *Store) look(ctx context.Context, sightings []models.Sighting, ask []requestPart, first []models.Position) error {
	seen := sightings[ask[0].index] // all have the same keyspace and interval
	wanted := make(map[rowID]int32, len(ask))
	for _, row := range ask {
		wanted[rowOf(sightings[row.index])] = row.index
	}
	of := partitionOf(seen)
	args := of.args()
	args[len(args)-1] = lastOf(sightings, ask)
	columns := []any{&seen.Name, &seen.Visitor}
	features := make([]string, len(s.plan.Features()))
	if seen.Keyspace == models.Cardinality {
		columns = columns[1:]
		for i := range features {
			columns = append(columns, &features[i])
		}
	}
	var topic string
	var partition *int
	var offset *int64
	columns = append(columns, &topic, &partition, &offset)
	query := s.query(ctx, kindLookup, s.cql.seen[seen.Keyspace], append(args, clusterings(sightings, ask))...)
	scanner := query.RoutingKey(of.appendKey(nil)).Iter().Scanner() // gocql derives no routing key from IN
	for scanner.Next() {
		if err := scanner.Scan(columns...); err != nil {
			return err
		}
		if seen.Keyspace == models.Cardinality {
			seen.Features = models.NewFeatures(features...)
		}
		index, asked := wanted[rowOf(seen)]
		if !asked { // the read was about this IP on another link
			continue
		}
		at := models.Position{Partition: -1, Offset: -1} // a row inserted by hand: the visitor was seen, but by no event of the log
		if topic != "" && partition != nil && offset != nil {
			at = models.Position{Topic: topic, Partition: *partition, Offset: *offset}
		}
		first[index] = at
	}
	return scanner.Err()
}

// lastOf lists the last column of the partition keys of a read, a link or a bucket: the only one in which they differ.
func lastOf(sightings []models.Sighting, ask []requestPart) []string {
	var out []string
	same := among(sightings)
	for i, row := range ask {
		if i > 0 && row.token == ask[i-1].token && same(row, ask[i-1]) {
			continue
		}
		p := partitionOf(sightings[row.index])
		if p.keyspace == models.URLShortener {
			out = append(out, p.name)
		} else {
			out = append(out, p.bucket)
		}
	}
	return out
}

// clusterings is the value for IN: the IPs, each once, or tuples of guid and features.
func clusterings(sightings []models.Sighting, ask []requestPart) any {
	if sightings[ask[0].index].Keyspace == models.URLShortener {
		ips := make([]string, len(ask))
		for i, row := range ask {
			ips[i] = sightings[row.index].Visitor
		}
		slices.Sort(ips)
		return slices.Compact(ips)
	}
	tuples := make([][]string, len(ask))
	for i, row := range ask {
		tuples[i] = append([]string{sightings[row.index].Visitor}, sightings[row.index].Features.Values()...)
	}
	return tuples
}

// Remember implements store.Store: one batch for the visitors of a few partitions. It needs no lightweight transaction: one consumer decides
// about a visitor, and if two take themselves for the owner of a partition, both write the same values.
func (s *Store) Remember(ctx context.Context, sightings []models.Sighting, first []models.Position) error {
	const perRow = 100 // bytes as Cassandra counts: three cells with their timestamps
	err := s.eachBatch(ctx, placed(sightings, perRow), rowsPerRequest, among(sightings), func(ctx context.Context, together []requestPart) error {
		return s.remember(ctx, sightings, first, together)
	})
	if err != nil {
		return fmt.Errorf("remembering visitors: %w", markDisconnected(err))
	}
	return nil
}

// remember writes one batch. Rows of one partition share the values of its key.
func (s *Store) remember(ctx context.Context, sightings []models.Sighting, first []models.Position, together []requestPart) error {
	batch := s.newBatch(ctx, kindVisitors, gocql.UnloggedBatch)
	batch.Entries = make([]gocql.BatchEntry, 0, len(together))
	same := among(sightings)
	var common []any // the partition key
	var topic any
	var args []any // of all rows, in one slice
	for i, row := range together {
		sighting, at := &sightings[row.index], &first[row.index]
		if i == 0 || row.token != together[i-1].token || !same(row, together[i-1]) {
			common = partitionOf(*sighting).args()
		}
		if topic != at.Topic {
			topic = at.Topic
		}
		begin := len(args)
		args = append(append(args, common...), sighting.Visitor)
		if sighting.Keyspace == models.Cardinality {
			for _, f := range sighting.Features.Values() {
				args = append(args, f)
			}
		}
		args = append(args, topic, at.Partition, at.Offset)
		statement := s.cql.remember[sighting.Keyspace]
		if s.ipTTL > 0 && sighting.Keyspace == models.URLShortener {
			statement, args = s.cql.rememberUntil, append(args, secondsLeft(sighting.Visitor, s.ipTTL, time.Now()))
		}
		if i == 0 {
			args = slices.Grow(args, len(args)*(len(together)-1)) // all rows have as many values
		}
		batch.Query(statement, args[begin:len(args):len(args)]...)
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
