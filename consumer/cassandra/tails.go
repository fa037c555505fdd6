package cassandra

import (
	"context"
	"errors"
	"fmt"

	"github.com/gocql/gocql"

	"footfall/consumer/store"
	"footfall/models"
)

// NoteTail implements store.Store. It is no transaction: what anybody notes is true, also if it is not the latest.
func (s *Store) NoteTail(ctx context.Context, p models.Partition, t store.Tail) error {
	err := s.session.Query(`INSERT INTO `+s.names.Footfall+`.tails (topic, kafka_partition, tail) VALUES (?, ?, ?)`,
		p.Topic, p.Number, t.String()).WithContext(ctx).Exec()
	if err != nil {
		return fmt.Errorf("noting the last event of partition %d of %s: %w", p.Number, p.Topic, err)
	}
	return nil
}

// Tail implements store.Store.
func (s *Store) Tail(ctx context.Context, p models.Partition) (store.Tail, error) {
	var text string
	err := s.session.Query(`SELECT tail FROM `+s.names.Footfall+`.tails WHERE topic = ? AND kafka_partition = ?`,
		p.Topic, p.Number).WithContext(ctx).Scan(&text)
	if err != nil && !errors.Is(err, gocql.ErrNotFound) {
		return store.Tail{}, fmt.Errorf("reading the last event of partition %d of %s: %w", p.Number, p.Topic, err)
	}
	return store.ReadTail(text)
}
