package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

var _ store.LatestStore = (*Store)(nil)

// KeepLatest implements store.LatestStore. Expired rows are deleted by the next write; until then queries do not show them.
func (s *Store) KeepLatest(ctx context.Context, clicks []models.LatestClick, ttl time.Duration) error {
	now := time.Now().UnixMilli()
	return s.write(ctx, fmt.Sprintf("keeping %d latest clicks", len(clicks)), func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM urlshortener.latestclicks_kept WHERE expires <= ?", now); err != nil {
			return err
		}
		insert, err := tx.PrepareContext(ctx, "INSERT INTO urlshortener.latestclicks_kept VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")
		if err != nil {
			return err
		}
		for _, c := range clicks {
			expires := min(int64(c.TS), now) + ttl.Milliseconds()
			if expires <= now {
				continue
			}
			_, err := insert.ExecContext(ctx, c.ShortURL, day(c.Day), int64(c.TS), uuidText(c.At), c.Country, c.Referrer, c.IP, c.Bot, c.ID, expires)
			if err != nil {
				return err
			}
		}
		return insert.Close()
	})
}

// uuidText formats an id as cqlsh shows it.
func uuidText(u models.TimeUUID) string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
