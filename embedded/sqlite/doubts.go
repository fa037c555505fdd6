package sqlite

import (
	"context"
	"database/sql"
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
	return s.exec(ctx, "noting a doubt", "INSERT OR REPLACE INTO footfall.doubts (topic, kafka_partition, id, from_offset, to_offset,"+
		" reason, since, noted_at, due, checks) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		d.Partition.Topic, d.Partition.Number, d.ID, d.From, d.To, d.Reason, d.Since.UnixMilli(), d.NotedAt.UnixMilli(), d.Due.UnixMilli(), d.Checks)
}

// Doubts implements store.Store.
func (s *Store) Doubts(ctx context.Context, p models.Partition) ([]store.Doubt, error) {
	scan := func(rows *sql.Rows) (store.Doubt, error) {
		d := store.Doubt{Partition: p}
		var since, at, due int64
		err := rows.Scan(&d.ID, &d.From, &d.To, &d.Reason, &since, &at, &due, &d.Checks)
		d.Since, d.NotedAt, d.Due = time.UnixMilli(since), time.UnixMilli(at), time.UnixMilli(due)
		return d, err
	}
	return listOf(ctx, s.readers, "doubts", scan, "SELECT id, from_offset, to_offset, reason, since, noted_at, due, checks FROM footfall.doubts"+
		" WHERE topic = ? AND kafka_partition = ?", p.Topic, p.Number)
}

// SettleDoubt implements store.Store.
func (s *Store) SettleDoubt(ctx context.Context, d store.Doubt) error {
	return s.exec(ctx, "settling a doubt", "DELETE FROM footfall.doubts WHERE topic = ? AND kafka_partition = ? AND id = ?",
		d.Partition.Topic, d.Partition.Number, d.ID)
}
