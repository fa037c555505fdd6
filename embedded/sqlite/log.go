package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"footfall/models"
)

// LogID is the id of the log whose offsets the store holds, empty before SetLogID.
func (s *Store) LogID(ctx context.Context) (id string, err error) {
	err = s.readers.QueryRowContext(ctx, "SELECT id FROM footfall.log").Scan(&id)
	if orNoRow(err) != nil {
		return "", fmt.Errorf("reading the log's id: %w", err)
	}
	return id, nil
}

// SetLogID ties a new store to the log that it is going to count.
func (s *Store) SetLogID(ctx context.Context, id string) error {
	return s.exec(ctx, "writing the log's id", "INSERT INTO footfall.log (id) VALUES (?)", id)
}

// Ends is how far the store has counted each Kafka partition: the highest offset of a ledger row or a clean owner. A log that ends before
// it is not the log that was counted. It reads the whole ledger, which takes a second or two per million rows.
func (s *Store) Ends(ctx context.Context) (map[models.Partition]int64, error) {
	return s.byPartition(ctx, `
		SELECT topic, kafka_partition, max(reached) FROM (
			SELECT topic, kafka_partition, committed AS reached FROM footfall.owners
			UNION ALL
			SELECT topic, kafka_partition, max(to_offset) FROM urlshortener.applied GROUP BY 1, 2
			UNION ALL
			SELECT topic, kafka_partition, max(to_offset) FROM cardinality.applied GROUP BY 1, 2
		) GROUP BY 1, 2`)
}

// Counted is the offset below which each partition is counted and not in doubt: below it the log is read again only for ids. It is empty
// if the store belongs to another log than the one with this id.
func (s *Store) Counted(ctx context.Context, log string) (map[models.Partition]int64, error) {
	return s.byPartition(ctx, `
		SELECT topic, kafka_partition, min(offset) FROM (
			SELECT topic, kafka_partition, committed AS offset FROM footfall.owners
			UNION ALL
			SELECT topic, kafka_partition, from_offset FROM footfall.doubts
		) WHERE EXISTS (SELECT 1 FROM footfall.log WHERE id = ?) GROUP BY 1, 2`, log)
}

// byPartition reads rows of a topic, a partition and an offset.
func (s *Store) byPartition(ctx context.Context, query string, args ...any) (map[models.Partition]int64, error) {
	offsets := map[models.Partition]int64{}
	scan := func(rows *sql.Rows) (p models.Partition, err error) {
		var offset int64
		err = rows.Scan(&p.Topic, &p.Number, &offset)
		offsets[p] = offset
		return p, err
	}
	if _, err := listOf(ctx, s.readers, "how far was counted", scan, query, args...); err != nil {
		return nil, err
	}
	return offsets, nil
}
