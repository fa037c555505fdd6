package cassandra

import (
	"context"
	"fmt"
	"sync"

	"github.com/gocql/gocql"

	"footfall/internal/cql"
	"footfall/models"
)

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
		buffer = partitionOf(v).AppendKey(buffer[:0])
		parts[i].token = cql.Token(buffer)
	}
	return parts
}

// amongVisitors tells whether two of a list are in one partition.
func amongVisitors(visitors []models.Visitor) func(a, b requestPart) bool {
	return func(a, b requestPart) bool {
		return partitionOf(visitors[a.index]) == partitionOf(visitors[b.index])
	}
}

// Entries of visitors' rows come in pages. A page is in memory as Cassandra sent it, and an entry may have 1 KB for each feature. Most reads get all
// their entries, a few for each visitor, in one page. The pages of all reads that are under way take 16 MiB at the most; those of ordinary
// entries a twentieth of that.
const (
	entriesPerPage = 128
	pagesBytes     = 16 << 20
)

// readsOfRows is how many reads of visitors' rows may be under way: of first rows 55 with two features, and 20 with six; fewer if each entry comes with
// long features that it is under.
func (s *Store) readsOfRows(under int) int {
	longest := under + len(s.plan.Features())*models.MaxFeature + 300 // the guid and all else
	return min(s.inFlight, pagesBytes/(entriesPerPage*longest))
}

// Visitors implements store.Store: one read for visitors in several buckets of a site's month.
func (s *Store) Visitors(ctx context.Context, visitors []models.Visitor, found func(int, models.First)) error {
	const perRow = requestBytes / 128 // as in lookups
	parts := visitorParts(visitors, func(i int) int { return perRow + len(visitors[i].GUID) + len(visitors[i].Under) })
	type together struct { // in one read
		site  string
		month models.Millis
		first bool
	}
	numbers := map[together]int32{}
	under := 0 // bytes
	for i, v := range visitors {
		under = max(under, len(v.Under))
		of := together{v.Site, v.Month, v.Under == ""}
		number, known := numbers[of]
		if !known {
			number = int32(len(numbers))
			numbers[of] = number
		}
		parts[i].kind = number
	}
	same := amongVisitors(visitors)
	asks := packRequests(parts, rowsPerRequest, same)
	var mu sync.Mutex
	read, over := s.traffic.turns(len(asks), func(ctx context.Context, i int) error {
		return s.readRows(ctx, visitors, asks[i], same, func(i int, entry models.First) {
			mu.Lock()
			defer mu.Unlock()
			found(i, entry)
		})
	})
	defer over()
	if err := cql.AtOnce(ctx, s.readsOfRows(under), len(asks), read); err != nil {
		return fmt.Errorf("looking up visitors: %w", markDisconnected(err))
	}
	return nil
}

// readRows does one read, of first rows or of others, and hands on the entries that it finds.
func (s *Store) readRows(ctx context.Context, visitors []models.Visitor, ask []requestPart, same func(a, b requestPart) bool, found func(int, models.First)) error {
	of := partitionOf(visitors[ask[0].index]) // all have the same site and month
	places := make(map[[2]string]int32, len(ask))
	guids, tuples, buckets := make([]string, len(ask)), make([][]string, len(ask)), []string{of.Bucket}
	for i, part := range ask {
		guid, under := visitors[part.index].GUID, string(visitors[part.index].Under)
		guids[i], tuples[i], places[[2]string{guid, under}] = guid, []string{guid, under}, part.index
		if i > 0 && (part.token != ask[i-1].token || !same(part, ask[i-1])) {
			buckets = append(buckets, models.Bucket(guid))
		}
	}
	var entry visitorEntry
	columns := entry.Columns()
	query := s.query(ctx, kindLookup, s.cql.readRows, of.Site, of.Month.Time(), buckets, tuples)
	if visitors[ask[0].index].Under == "" { // takes less time than tuples
		query = s.query(ctx, kindLookup, s.cql.readFirstRows, of.Site, of.Month.Time(), buckets, guids)
	}
	query.RoutingKey(of.AppendKey(nil)).PageSize(entriesPerPage) // gocql derives no routing key from IN
	for state, more := []byte(nil), true; more; more = len(state) > 0 {
		page := query.PageState(state).Iter() // gocql would keep a page until it has the next one
		state = page.PageState()
		scanner := page.Scanner()
		for scanner.Next() {
			if err := scanner.Scan(columns...); err != nil {
				return err
			}
			place, asked := places[[2]string{entry.GUID, entry.Under}]
			if first, ok := entry.First(len(s.plan.Features())); ok && asked {
				found(int(place), first)
			}
		}
		if err := scanner.Err(); err != nil {
			return err
		}
	}
	return nil
}

// RememberFirsts implements store.Store: one batch for the entries of a few partitions. As in Remember, two that take themselves for the owner
// write the same values.
func (s *Store) RememberFirsts(ctx context.Context, visitors []models.Visitor, firsts [][]models.First) error {
	var whose []models.Visitor
	var entries []models.First
	for i, list := range firsts {
		for _, first := range list {
			whose, entries = append(whose, visitors[i]), append(entries, first)
		}
	}
	const perRow = 120 // bytes as Cassandra counts: one cell with its timestamp
	parts := visitorParts(whose, func(i int) int {
		return perRow + len(whose[i].GUID) + len(whose[i].Under) + textBytes(entries[i].Features)
	})
	err := s.eachBatch(ctx, parts, rowsPerRequest, amongVisitors(whose), func(ctx context.Context, together []requestPart) error {
		batch := s.newBatch(ctx, kindVisitors, gocql.UnloggedBatch)
		batch.Entries = make([]gocql.BatchEntry, 0, len(together))
		for _, part := range together {
			args := partitionOf(whose[part.index]).Args()
			batch.Query(s.cql.insertEntry, appendEntry(args, whose[part.index], entries[part.index])...)
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

// guidData is the table of visitors' rows, as declared.
var guidData = models.TableOf(models.Cardinality, models.SiteVisitors)

// visitorPartition is one Cassandra partition of the table.
type visitorPartition struct {
	Site   string
	Month  models.Millis
	Bucket string
}

// partitionOf is where a visitor's rows are.
func partitionOf(v models.Visitor) visitorPartition {
	return visitorPartition{v.Site, v.Month, models.Bucket(v.GUID)}
}

// Args are the values of the partition key.
func (p visitorPartition) Args() []any { return []any{p.Site, p.Month.Time(), p.Bucket} }

// AppendKey appends the partition key as CQL encodes it.
func (p visitorPartition) AppendKey(to []byte) []byte {
	return cql.AppendColumn(cql.AppendMillis(cql.AppendColumn(to, p.Site), int64(p.Month)), p.Bucket)
}

// appendEntry appends the values of an entry of a visitor's row: those of the table after the partition key.
func appendEntry(args []any, v models.Visitor, f models.First) []any {
	return append(args, v.GUID, string(v.Under), f.At.Topic, f.At.Partition, f.At.Offset, f.Seen())
}

// visitorEntry is where the columns of a row after the partition key are scanned to. It is not safe for concurrent use.
type visitorEntry struct {
	GUID  string
	Under string
	at    models.Position
	seen  []string
}

// Columns are what to scan rows to.
func (e *visitorEntry) Columns() []any {
	return []any{&e.GUID, &e.Under, &e.at.Topic, &e.at.Partition, &e.at.Offset, &e.seen}
}

// First is the entry of the row that was scanned last, as models.ReadFirst reads it for so many features.
func (e *visitorEntry) First(features int) (models.First, bool) {
	seen := e.seen
	e.seen = nil // or the next row would be scanned into the features of this one
	return models.ReadFirst(e.at, seen, features)
}
