package cassandra

import (
	"context"
	"errors"
	"fmt"

	"github.com/gocql/gocql"

	"footfall/consumer/cassandra/visitorrow"
	"footfall/consumer/store"
	"footfall/internal/cql"
	"footfall/models"
)

// inRows tells whether visitors of sites are in the table visitors. It reads that once: the setting never changes. An error is not taken for no.
func (s *Store) inRows(ctx context.Context) (bool, error) {
	s.rowsMu.Lock()
	defer s.rowsMu.Unlock()
	if s.rows == nil {
		recorded, err := s.recorded(ctx, models.VisitorsSetting)
		if err != nil {
			return false, fmt.Errorf("reading how visitors are remembered: %w", markDisconnected(err))
		}
		rows := recorded == models.VisitorsInRows
		if !rows && recorded != models.VisitorsBySighting { // perhaps another data centre has it: a guess would count visitors again
			return false, fmt.Errorf("how visitors are remembered is not recorded, as far as the nodes that answer know (it is %q): start consumers"+
				" when all nodes are up, after `consumer migrate`", recorded)
		}
		s.rows = &rows
	}
	return *s.rows, nil
}

// visitorParts makes the request parts of visitors. Neighbours in the list often are the same one, and then share the token.
func visitorParts(visitors []models.Visitor, bytes func(i int) int) []requestPart {
	parts := make([]requestPart, len(visitors))
	var buffer []byte
	for i, v := range visitors {
		parts[i] = requestPart{index: int32(i), bytes: int32(bytes(i))}
		if i > 0 && v == visitors[i-1] {
			parts[i].token = parts[i-1].token
			continue
		}
		buffer = visitorrow.PartitionOf(v).AppendKey(buffer[:0])
		parts[i].token = cql.Token(buffer)
	}
	return parts
}

// amongVisitors tells whether two of a list are in one partition.
func amongVisitors(visitors []models.Visitor) func(a, b requestPart) bool {
	return func(a, b requestPart) bool {
		return visitorrow.PartitionOf(visitors[a.index]) == visitorrow.PartitionOf(visitors[b.index])
	}
}

// Visitors implements store.Store: one read for visitors in several buckets of a site's month.
func (s *Store) Visitors(ctx context.Context, visitors []models.Visitor) ([]store.VisitorRow, error) {
	out := make([]store.VisitorRow, len(visitors)) // at most one goroutine writes each element
	rows, err := s.inRows(ctx)
	if err != nil || !rows {
		return out, err
	}
	const perRow = requestBytes / 128 // as in lookups
	parts := visitorParts(visitors, func(i int) int { return perRow + len(visitors[i].GUID) })
	type siteMonth struct {
		site  string
		month models.Millis
	}
	numbers := map[siteMonth]int32{}
	for i, v := range visitors {
		out[i].Rows = true
		of := siteMonth{v.Site, v.Month}
		number, known := numbers[of]
		if !known {
			number = int32(len(numbers))
			numbers[of] = number
		}
		parts[i].kind = number
	}
	same := amongVisitors(visitors)
	asks := packRequests(parts, rowsPerRequest, same)
	err = s.each(ctx, len(asks), func(ctx context.Context, i int) error { return s.readRows(ctx, visitors, asks[i], same, out) })
	if err != nil {
		return nil, fmt.Errorf("looking up visitors: %w", markDisconnected(err))
	}
	return out, nil
}

// readRows does one read and adds the entries that it finds to out.
func (s *Store) readRows(ctx context.Context, visitors []models.Visitor, ask []requestPart, same func(a, b requestPart) bool, out []store.VisitorRow) error {
	of := visitorrow.PartitionOf(visitors[ask[0].index]) // all have the same site and month
	places := make(map[string]int32, len(ask))
	guids, buckets := make([]string, len(ask)), []string{of.Bucket}
	for i, part := range ask {
		guid := visitors[part.index].GUID
		guids[i], places[guid] = guid, part.index
		if i > 0 && (part.token != ask[i-1].token || !same(part, ask[i-1])) {
			buckets = append(buckets, models.Bucket(guid))
		}
	}
	entry := s.visitorRows.NewEntry()
	query := s.query(ctx, kindLookup, s.cql.readRows, of.Site, of.Month.Time(), buckets, guids)
	scanner := query.RoutingKey(of.AppendKey(nil)).Iter().Scanner() // gocql derives no routing key from IN
	for scanner.Next() {
		if err := scanner.Scan(entry.Columns()...); err != nil {
			return err
		}
		place, asked := places[entry.GUID]
		if first, ok := entry.First(); ok && asked {
			out[place].Firsts = append(out[place].Firsts, first)
		}
	}
	return scanner.Err()
}

// RememberFirsts implements store.Store: one batch for the entries of a few partitions. As in Remember, two that take themselves for the owner
// write the same values.
func (s *Store) RememberFirsts(ctx context.Context, visitors []models.Visitor, firsts [][]models.First) error {
	rows, err := s.inRows(ctx)
	if err != nil {
		return err
	}
	if !rows {
		return errors.New("remembering visitors: these tables have no rows of visitors: nobody would find them")
	}
	var whose []models.Visitor
	var entries []models.First
	for i, list := range firsts {
		for _, first := range list {
			whose, entries = append(whose, visitors[i]), append(entries, first)
		}
	}
	const perRow = 120 // bytes as Cassandra counts: one cell with its timestamp
	parts := visitorParts(whose, func(i int) int { return perRow + len(whose[i].GUID) + textBytes(entries[i].Features) })
	err = s.eachBatch(ctx, parts, rowsPerRequest, amongVisitors(whose), func(ctx context.Context, together []requestPart) error {
		batch := s.newBatch(ctx, kindVisitors, gocql.UnloggedBatch)
		batch.Entries = make([]gocql.BatchEntry, 0, len(together))
		for _, part := range together {
			args := append(visitorrow.PartitionOf(whose[part.index]).Args(), whose[part.index].GUID)
			batch.Query(s.cql.insertEntry, visitorrow.AppendEntry(args, entries[part.index])...)
		}
		return s.session.ExecuteBatch(batch)
	})
	if err != nil {
		return fmt.Errorf("remembering visitors: %w", markDisconnected(err))
	}
	return nil
}

func textBytes(texts []string) (n int) {
	for _, text := range texts {
		n += len(text)
	}
	return n
}

// findInRows looks for sightings of sites in the rows of their visitors. It sets first of those that it finds, and returns the places of all others:
// rows of GuidData have those of visitors whose row is full.
func (s *Store) findInRows(ctx context.Context, sightings []models.Sighting, first []models.Position) (left []int32, err error) {
	var visitors []models.Visitor
	numbers := map[models.Visitor]int32{}
	whose := make([]int32, len(sightings))
	for i, sighting := range sightings {
		whose[i] = -1
		if sighting.Keyspace != models.Cardinality {
			continue
		}
		v, _ := sighting.Row()
		number, known := numbers[v]
		if !known {
			number = int32(len(visitors))
			numbers[v], visitors = number, append(visitors, v)
		}
		whose[i] = number
	}
	var rows []store.VisitorRow
	if len(visitors) > 0 {
		if rows, err = s.Visitors(ctx, visitors); err != nil {
			return nil, err
		}
	}
	for i, sighting := range sightings {
		if whose[i] >= 0 {
			_, place := sighting.Row()
			first[i] = visitorrow.Find(rows[whose[i]].Firsts, sighting, place)
		}
		if first[i] == (models.Position{}) {
			left = append(left, int32(i))
		}
	}
	return left, nil
}
