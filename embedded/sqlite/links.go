package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Create implements links.Store.
func (s *Store) Create(ctx context.Context, short, long string, at time.Time) (existing string, created bool, err error) {
	err = s.write(ctx, "creating link "+short, func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO urlshortener.urls (short_url, long_url, created_at) VALUES (?, ?, ?)",
			short, long, at.UTC().Format("2006-01-02 15:04:05.000"))
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 1 {
			created = err == nil
			return err
		}
		return tx.QueryRowContext(ctx, "SELECT coalesce(long_url, '') FROM urlshortener.urls WHERE short_url = ?", short).Scan(&existing)
	})
	if err != nil {
		return "", false, err
	}
	return existing, created, nil
}

// Target implements links.Store.
func (s *Store) Target(ctx context.Context, short string) (long string, found bool, err error) {
	err = s.readers.QueryRowContext(ctx, "SELECT coalesce(long_url, '') FROM urlshortener.urls WHERE short_url = ?", short).Scan(&long)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("reading link %s: %w", short, err)
	}
	return long, true, nil
}
