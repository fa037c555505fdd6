package sqlite

import (
	"context"
	"fmt"

	"footfall/consumer/store"
	"footfall/models"
)

// NoteTail implements store.Store.
func (s *Store) NoteTail(ctx context.Context, p models.Partition, t store.Tail) error {
	return s.exec(ctx, fmt.Sprintf("noting the last event of partition %d of %s", p.Number, p.Topic),
		"INSERT OR REPLACE INTO footfall.tails (topic, kafka_partition, tail) VALUES (?, ?, ?)", p.Topic, p.Number, t.String())
}

// Tail implements store.Store.
func (s *Store) Tail(ctx context.Context, p models.Partition) (store.Tail, error) {
	var text string
	err := s.readers.QueryRowContext(ctx, "SELECT tail FROM footfall.tails WHERE topic = ? AND kafka_partition = ?",
		p.Topic, p.Number).Scan(&text)
	if orNoRow(err) != nil {
		return store.Tail{}, fmt.Errorf("reading the last event of partition %d of %s: %w", p.Number, p.Topic, err)
	}
	return store.ReadTail(text)
}
