package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"footfall/consumer/store"
)

const noteProgress = "INSERT INTO footfall.progress VALUES ('counted', ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET counted = excluded.counted," +
	" log_end = excluded.log_end, event_time = coalesce(excluded.event_time, event_time), at = excluded.at"

// NoteProgress implements store.Store.
func (s *Store) NoteProgress(ctx context.Context, rows []store.Progress) error {
	return s.write(ctx, fmt.Sprintf("noting how far %d partitions are", len(rows)), func(ctx context.Context, tx *sql.Tx) error {
		for _, row := range rows {
			var eventTime any
			if !row.EventTime.IsZero() {
				eventTime = row.EventTime.UnixMilli()
			}
			_, err := tx.ExecContext(ctx, noteProgress, row.Partition.Topic, row.Partition.Number, row.Counted, row.LogEnd, eventTime, row.At.UnixMilli())
			if err != nil {
				return err
			}
		}
		return nil
	})
}
