package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

// Confirm implements store.Store: there is one replica, and it has answered.
func (s *Store) Confirm(ctx context.Context, keys []models.Key, _ func(int) iter.Seq[models.Cell], found func(int, []store.LedgerRow)) (bool, error) {
	return true, s.Ledger(ctx, keys, found)
}

// NoteDoubt implements store.Store.
func (s *Store) NoteDoubt(ctx context.Context, d store.Doubt) error {
	err := s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO footfall.doubts (topic, kafka_partition, id, from_offset, to_offset,"+
			" reason, since, noted_at, due, checks) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			d.Partition.Topic, d.Partition.Number, d.ID, d.From, d.To, d.Reason, d.Since.UnixMilli(), d.NotedAt.UnixMilli(), d.Due.UnixMilli(), d.Checks)
		return err
	})
	if err != nil {
		return fmt.Errorf("noting a doubt: %w", err)
	}
	return nil
}

// Doubts implements store.Store.
func (s *Store) Doubts(ctx context.Context, p models.Partition) (doubts []store.Doubt, err error) {
	rows, err := s.readers.QueryContext(ctx, "SELECT id, from_offset, to_offset, reason, since, noted_at, due, checks FROM footfall.doubts"+
		" WHERE topic = ? AND kafka_partition = ?", p.Topic, p.Number)
	if err != nil {
		return nil, fmt.Errorf("reading doubts: %w", err)
	}
	defer func() { _ = rows.Close() }() // Err has told
	for rows.Next() {
		d := store.Doubt{Partition: p}
		var since, at, due int64
		if err := rows.Scan(&d.ID, &d.From, &d.To, &d.Reason, &since, &at, &due, &d.Checks); err != nil {
			return nil, fmt.Errorf("reading doubts: %w", err)
		}
		d.Since, d.NotedAt, d.Due = time.UnixMilli(since), time.UnixMilli(at), time.UnixMilli(due)
		doubts = append(doubts, d)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading doubts: %w", err)
	}
	return doubts, nil
}

// SettleDoubt implements store.Store.
func (s *Store) SettleDoubt(ctx context.Context, d store.Doubt) error {
	err := s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM footfall.doubts WHERE topic = ? AND kafka_partition = ?"+
			" AND id = ?", d.Partition.Topic, d.Partition.Number, d.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("settling a doubt: %w", err)
	}
	return nil
}
