package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"footfall/models"
)

// LogID is the id of the log whose offsets the store holds, empty for a store that has not been told.
func (s *Store) LogID(ctx context.Context) (id string, err error) {
	err = s.readers.QueryRowContext(ctx, "SELECT id FROM footfall.log").Scan(&id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("reading the log's id: %w", err)
	}
	return id, nil
}

// SetLogID ties a new store to the log that it is going to count.
func (s *Store) SetLogID(ctx context.Context, id string) error {
	err := s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO footfall.log (id) VALUES (?)", id)
		return err
	})
	if err != nil {
		return fmt.Errorf("writing the log's id: %w", err)
	}
	return nil
}

// Ends finds how far into each Kafka partition the store has counted: the highest offset that a ledger row or a clean
// owner names. A log that ends before it is not the log that was counted. It reads the whole ledger, which takes a second or
// two per million rows.
func (s *Store) Ends(ctx context.Context) (map[models.Partition]int64, error) {
	rows, err := s.readers.QueryContext(ctx, `
		SELECT topic, kafka_partition, max(reached) FROM (
			SELECT topic, kafka_partition, committed AS reached FROM footfall.owners
			UNION ALL
			SELECT topic, kafka_partition, max(to_offset) FROM urlshortener.applied GROUP BY 1, 2
			UNION ALL
			SELECT topic, kafka_partition, max(to_offset) FROM cardinality.applied GROUP BY 1, 2
		) GROUP BY 1, 2`)
	if err != nil {
		return nil, fmt.Errorf("reading how far was counted: %w", err)
	}
	defer func() { _ = rows.Close() }() // Err below has what there is to say
	ends := map[models.Partition]int64{}
	for rows.Next() {
		var p models.Partition
		var end int64
		if err := rows.Scan(&p.Topic, &p.Number, &end); err != nil {
			return nil, fmt.Errorf("reading how far was counted: %w", err)
		}
		ends[p] = end
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading how far was counted: %w", err)
	}
	return ends, nil
}
