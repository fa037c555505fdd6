package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

// Take implements store.Store. Transactions run one after the other on the only writer connection, so it is safe to read the row and write
// it back.
func (s *Store) Take(ctx context.Context, p models.Partition, owner string) (store.Tenure, error) {
	t := store.Tenure{Partition: p, Owner: owner}
	err := s.write(ctx, fmt.Sprintf("taking partition %d of %s", p.Number, p.Topic), func(ctx context.Context, tx *sql.Tx) error {
		var clean bool
		err := tx.QueryRowContext(ctx,
			"SELECT epoch, clean, committed FROM footfall.owners WHERE topic = ? AND kafka_partition = ?",
			p.Topic, p.Number).Scan(&t.Before, &clean, &t.Committed)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			t.Epoch, t.Fresh = store.NextEpoch(0, time.Now()), true
		case err != nil:
			return err
		case clean:
			t.Epoch, t.Fresh = t.Before, true
		default:
			t.Epoch = store.NextEpoch(t.Before, time.Now())
		}
		_, err = tx.ExecContext(ctx,
			"INSERT OR REPLACE INTO footfall.owners (topic, kafka_partition, epoch, owner, clean, committed, taken_at) VALUES (?, ?, ?, ?, 0, ?, ?)",
			p.Topic, p.Number, t.Epoch, owner, t.Committed, time.Now().UTC().Format(time.DateTime))
		return err
	})
	if err != nil {
		return store.Tenure{}, err
	}
	return t, nil
}

// Release implements store.Store.
func (s *Store) Release(ctx context.Context, t store.Tenure, committed int64) (bool, error) {
	return s.note(ctx, t, committed, true)
}

// Progress implements store.Store.
func (s *Store) Progress(ctx context.Context, t store.Tenure, committed int64) (bool, error) {
	return s.note(ctx, t, committed, false)
}

func (s *Store) note(ctx context.Context, t store.Tenure, committed int64, clean bool) (bool, error) {
	var changed int64
	what := fmt.Sprintf("noting the owner's progress in partition %d of %s", t.Partition.Number, t.Partition.Topic)
	err := s.write(ctx, what, func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx,
			"UPDATE footfall.owners SET clean = ?, committed = ? WHERE topic = ? AND kafka_partition = ? AND owner = ? AND epoch = ?",
			clean, committed, t.Partition.Topic, t.Partition.Number, t.Owner, t.Epoch)
		if err != nil {
			return err
		}
		changed, err = result.RowsAffected()
		return err
	})
	return err == nil && changed == 1, err
}

// Owners implements store.Store.
func (s *Store) Owners(ctx context.Context) ([]store.Owner, error) {
	return listOf(ctx, s.readers, "owners", (*store.Owner).Columns,
		"SELECT topic, kafka_partition, owner, clean, epoch, committed, unixepoch(taken_at) * 1000 FROM footfall.owners")
}

// Committed implements store.Store.
func (s *Store) Committed(ctx context.Context, p models.Partition) (committed int64, err error) {
	what := fmt.Sprintf("reading how far partition %d of %s is counted", p.Number, p.Topic)
	err = s.write(ctx, what, func(ctx context.Context, tx *sql.Tx) error {
		return orNoRow(tx.QueryRowContext(ctx, "SELECT committed FROM footfall.owners WHERE topic = ? AND kafka_partition = ?", p.Topic, p.Number).
			Scan(&committed))
	})
	return committed, err
}

// Setting implements store.Store.
func (s *Store) Setting(ctx context.Context, name, value string) (recorded string, err error) {
	err = s.write(ctx, "recording "+name, func(ctx context.Context, tx *sql.Tx) error {
		if value != "" {
			_, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO footfall.settings (name, value) VALUES (?, ?)", name, value)
			if err != nil {
				return err
			}
		}
		return orNoRow(tx.QueryRowContext(ctx, "SELECT value FROM footfall.settings WHERE name = ?", name).Scan(&recorded))
	})
	return recorded, err
}

// orNoRow is err, or nil if it says that there is no such row.
func orNoRow(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// Confirm implements store.Store: there is one replica, and it has answered.
func (s *Store) Confirm(ctx context.Context, keys []models.Key, _ func(int) iter.Seq[models.Cell], found func(int, []store.LedgerRow)) (bool, error) {
	return true, s.Ledger(ctx, keys, found)
}

// NoteDoubt implements store.Store.
func (s *Store) NoteDoubt(ctx context.Context, d store.Doubt) error {
	return s.exec(ctx, "noting a doubt", "INSERT OR REPLACE INTO footfall.doubts ("+store.DoubtColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		places(d.Columns())...)
}

// Doubts implements store.Store.
func (s *Store) Doubts(ctx context.Context, p models.Partition) ([]store.Doubt, error) {
	return listOf(ctx, s.readers, "doubts", (*store.Doubt).Columns, "SELECT "+store.DoubtColumns+" FROM footfall.doubts WHERE topic = ? AND kafka_partition = ?",
		p.Topic, p.Number)
}

// SettleDoubt implements store.Store.
func (s *Store) SettleDoubt(ctx context.Context, d store.Doubt) error {
	return s.exec(ctx, "settling a doubt", "DELETE FROM footfall.doubts WHERE topic = ? AND kafka_partition = ? AND id = ?", d.Columns()[:3]...)
}

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

// Notices implements store.Store. There are none: embedded keeps everything.
func (s *Store) Notices(ctx context.Context) (store.Notices, error) {
	return store.Notices{}, ctx.Err()
}

// Leases implements store.Store. There are none: its commands do not run beside it.
func (s *Store) Leases(ctx context.Context) ([]store.Lease, error) { return nil, ctx.Err() }

// Withdraw implements store.Store.
func (s *Store) Withdraw(ctx context.Context, _ models.Millis) (bool, error) { return false, ctx.Err() }

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
	var p models.Partition
	var offset int64
	err := each(ctx, s.readers, func() error { offsets[p] = offset; return nil }, []any{&p.Topic, &p.Number, &offset}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("reading how far was counted: %w", err)
	}
	return offsets, nil
}
