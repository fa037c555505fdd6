package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
	scan := func(rows *sql.Rows) (o store.Owner, err error) {
		return o, rows.Scan(&o.Partition.Topic, &o.Partition.Number, &o.Name, &o.Clean, &o.Epoch, &o.Committed)
	}
	return listOf(ctx, s.readers, "owners", scan, "SELECT topic, kafka_partition, owner, clean, epoch, committed FROM footfall.owners")
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
