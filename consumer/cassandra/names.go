package cassandra

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/gocql/gocql"

	"footfall/internal/cql"
	"footfall/models"
)

// listStatements insert one row of each list.
func listStatements(n cql.Keyspaces) map[string]string {
	return map[string]string{
		models.LinksByDay:   `INSERT INTO ` + n.URLShortener + `.links_by_day (day, bucket, short_url) VALUES (?, ?, ?)`,
		models.SitesByMonth: `INSERT INTO ` + n.Cardinality + `.sites_by_month (month_interval_start, siteId) VALUES (?, ?)`,
		models.ValuesByMonth: `INSERT INTO ` + n.Cardinality + `.values_by_month (siteId, month_interval_start, feature, bucket, value)` +
			` VALUES (?, ?, ?, ?, ?)`,
	}
}

// namePartition is the Cassandra partition of a name: the same with its bucket in place of its value.
func namePartition(n models.Name) models.Name {
	n.Value = n.Bucket()
	return n
}

// nameArgs are the values of the columns of a name in a partition, in the order of listStatements.
func nameArgs(p models.Name, value string) []any {
	switch p.List {
	case models.LinksByDay:
		return []any{p.Start.Time(), p.Value, value}
	case models.SitesByMonth:
		return []any{p.Start.Time(), value}
	}
	return []any{p.Site, p.Start.Time(), p.Feature, p.Value, value}
}

// appendNameKey appends the key of a partition of names as CQL has it on the wire, and returns a number that the list has alone.
func appendNameKey(to []byte, p models.Name) ([]byte, int32) {
	switch p.List {
	case models.LinksByDay:
		return cql.AppendColumn(cql.AppendMillis(to, int64(p.Start)), p.Value), 0
	case models.SitesByMonth:
		return binary.BigEndian.AppendUint64(to, uint64(p.Start)), 1 // a single column is its bytes alone
	}
	to = cql.AppendMillis(cql.AppendColumn(to, p.Site), int64(p.Start))
	return cql.AppendColumn(cql.AppendColumn(to, p.Feature), p.Value), 2
}

// ListNames implements store.Store: one batch for the names of a partition, or of a few small ones.
func (s *Store) ListNames(ctx context.Context, names []models.Name) error {
	const perRow = 40 // as Cassandra counts: a row without cells
	partitions, rows := make([]models.Name, len(names)), make([]requestPart, len(names))
	var buffer []byte
	for i, n := range names {
		if s.cql.list[n.List] == "" {
			return fmt.Errorf("listing names: no list %q", n.List)
		}
		partitions[i] = namePartition(n)
		key, list := appendNameKey(buffer[:0], partitions[i])
		rows[i] = requestPart{token: cql.Token(key), index: int32(i), kind: list, bytes: int32(perRow + len(n.Value))}
		buffer = key
	}
	same := func(a, b requestPart) bool { return partitions[a.index] == partitions[b.index] }
	err := s.eachBatch(ctx, rows, namesPerRequest, same, func(ctx context.Context, together []requestPart) error {
		batch := s.newBatch(ctx, kindNames, gocql.UnloggedBatch)
		for _, row := range together {
			p := partitions[row.index]
			batch.Query(s.cql.list[p.List], nameArgs(p, names[row.index].Value)...)
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
