package cassandra

import (
	"context"
	"fmt"

	"footfall/consumer/store"
	"footfall/internal/cql"
	"footfall/models"
)

// NoteDoubt implements store.Store.
func (s *Store) NoteDoubt(ctx context.Context, d store.Doubt) error {
	err := s.session.Query(`INSERT INTO `+s.names.Footfall+`.doubts (topic, kafka_partition, id, from_offset, to_offset, reason,`+
		` since, noted_at, due, checks) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		d.Partition.Topic, d.Partition.Number, d.ID, d.From, d.To, d.Reason, d.Since, d.NotedAt, d.Due, d.Checks).WithContext(ctx).Exec()
	if err != nil {
		return fmt.Errorf("noting a doubt: %w", err)
	}
	return nil
}

// Doubts implements store.Store.
func (s *Store) Doubts(ctx context.Context, p models.Partition) ([]store.Doubt, error) {
	doubts, err := cql.All(s.session.Query(`SELECT id, from_offset, to_offset, reason, since, noted_at, due, checks FROM `+s.names.Footfall+
		`.doubts WHERE topic = ? AND kafka_partition = ?`, p.Topic, p.Number).WithContext(ctx), func(d *store.Doubt) []any {
		d.Partition = p
		return []any{&d.ID, &d.From, &d.To, &d.Reason, &d.Since, &d.NotedAt, &d.Due, &d.Checks}
	})
	if err != nil {
		return nil, fmt.Errorf("reading doubts: %w", err)
	}
	return doubts, nil
}

// SettleDoubt implements store.Store.
func (s *Store) SettleDoubt(ctx context.Context, d store.Doubt) error {
	err := s.session.Query(`DELETE FROM `+s.names.Footfall+`.doubts WHERE topic = ? AND kafka_partition = ?`+
		` AND id = ?`, d.Partition.Topic, d.Partition.Number, d.ID).WithContext(ctx).Exec()
	if err != nil {
		return fmt.Errorf("settling a doubt: %w", err)
	}
	return nil
}
