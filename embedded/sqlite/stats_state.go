package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"footfall/models"
	"footfall/reader/stats"
)

// Progress implements stats.Store.
func (s *Stats) Progress(ctx context.Context) ([]stats.Progress, error) {
	scan := func(rows *sql.Rows) (p stats.Progress, err error) {
		var event sql.NullInt64
		var at int64
		err = rows.Scan(&p.Partition.Topic, &p.Partition.Number, &p.Counted, &p.LogEnd, &event, &at)
		if event.Valid {
			p.EventTime = time.UnixMilli(event.Int64).UTC()
		}
		p.At = time.UnixMilli(at).UTC()
		return p, err
	}
	return listOf(ctx, s.db, "progress", scan, "SELECT topic, kafka_partition, counted, log_end, event_time, at FROM footfall.progress"+
		" WHERE name = 'counted'")
}

// Partitions implements stats.Store. Consumers record the number before they count.
func (s *Stats) Partitions(ctx context.Context, topic string) (n int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT CAST(value AS INTEGER) FROM footfall.settings WHERE name = ?", "topic "+topic+": partitions").Scan(&n)
	if orNoRow(err) != nil {
		return 0, fmt.Errorf("reading the number of partitions: %w", err)
	}
	return n, nil
}

// Doubts implements stats.Store.
func (s *Stats) Doubts(ctx context.Context) (map[string]int, error) {
	out := map[string]int{}
	for doubts, err := range rowsOf(ctx, s.db, "doubts", scanShare, "SELECT topic, count(*) FROM footfall.doubts GROUP BY topic") {
		if err != nil {
			return nil, err
		}
		out[doubts.Label] = int(doubts.Count)
	}
	return out, nil
}

// RetiredBefore implements stats.Store: embedded retires nobody.
func (s *Stats) RetiredBefore(ctx context.Context) (models.Millis, error) { return 0, ctx.Err() }
