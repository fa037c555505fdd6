package cassandra

import (
	"context"
	"fmt"

	"github.com/gocql/gocql"

	"footfall/internal/cql"
	"footfall/internal/tables"
	"footfall/models"
)

// list is a list of names: the statement that writes a row of it.
type list struct {
	insert    string
	number    int32 // that it has alone
	partition int   // how many of a row's values are the partition key
}

// ListNames implements store.Store: one batch for the names of a partition, or of a few small ones.
func (s *Store) ListNames(ctx context.Context, names []models.Name) error {
	const perRow = 40 // as Cassandra counts: a row without cells
	partitions, rows := make([]models.Name, len(names)), make([]requestPart, len(names))
	var key []byte
	var values []any
	for i, n := range names {
		list, known := s.cql.list[n.List]
		if !known {
			return fmt.Errorf("listing names: no list %q", n.List)
		}
		partitions[i], values = n.Partition(), n.Append(values[:0], tables.Moment)
		key = cql.AppendKey(key[:0], values[:list.partition]...)
		rows[i] = requestPart{token: cql.Token(key), index: int32(i), kind: list.number, bytes: int32(perRow + len(n.Value))}
	}
	same := func(a, b requestPart) bool { return partitions[a.index] == partitions[b.index] }
	err := s.eachBatch(ctx, rows, namesPerRequest, same, func(ctx context.Context, together []requestPart) error {
		batch := s.newBatch(ctx, kindNames, gocql.UnloggedBatch)
		for _, row := range together {
			n := names[row.index]
			batch.Query(s.cql.list[n.List].insert, n.Append(nil, tables.Moment)...)
		}
		return s.session.ExecuteBatch(batch)
	})
	if err != nil {
		return fmt.Errorf("listing names: %w", markDisconnected(err))
	}
	return nil
}

// eachBatch sends rows in batches, in any order: those of a partition together, and those of a few small partitions that are neighbours.
func (s *Store) eachBatch(ctx context.Context, rows []requestPart, most int, same func(a, b requestPart) bool, send func(context.Context, []requestPart) error) error {
	batches := packRequests(rows, most, same)
	return s.each(ctx, len(batches), func(ctx context.Context, i int) error {
		err := send(ctx, batches[i])
		if !cql.RefusedAs(err, gocql.ErrCodeInvalid) {
			return err
		}
		for rest := batches[i]; len(rest) > 0; { // this server's limit is smaller: send each partition alone, which has no limit
			part := onePartition(rest, most, same)
			if err := send(ctx, part); err != nil {
				return err
			}
			rest = rest[len(part):]
		}
		return nil
	})
}
