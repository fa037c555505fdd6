package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"math"
	"time"

	"footfall/internal/tables"
	"footfall/models"
	"footfall/reader/stats"
)

// Link implements stats.Store.
func (s *Stats) Link(ctx context.Context, link string) (t stats.LinkTotals, err error) {
	const query = `SELECT coalesce((SELECT long_url FROM urlshortener.urls WHERE short_url = ?1), ''),
		coalesce((SELECT value FROM urlshortener.clickcounter WHERE short_url = ?1), 0),
		coalesce((SELECT value FROM urlshortener.uniquecounter WHERE short_url = ?1), 0),
		coalesce((SELECT value FROM urlshortener.botcounter WHERE short_url = ?1), 0)`
	if err := s.db.QueryRowContext(ctx, query, link).Scan(&t.LongURL, &t.Clicks, &t.Unique, &t.Bots); err != nil {
		return stats.LinkTotals{}, fmt.Errorf("reading a link: %w", err)
	}
	return t, nil
}

// Points implements stats.Store.
func (s *Stats) Points(ctx context.Context, key models.Key, counter string, within stats.Range) iter.Seq2[stats.Point, error] {
	c, args := asked(counter, within, tables.AppendKey(nil, key, day))
	start := c.ColumnOf(models.KindTime)
	return rowsOf(ctx, s.db, counter, scanPoint, s.schema.Cells(c, start+", "+c.Column)+" ORDER BY "+start, args...)
}

// asked is a counter, and the parameters of a question about its cells, after those that there are.
func asked(name string, within stats.Range, args []any) (models.Counter, []any) {
	c, _ := models.CounterOf(name)
	from, to := between(within, timeOf(c))
	return c, tables.AppendRange(args, c, from, to)
}

// Shares implements stats.Store.
func (s *Stats) Shares(ctx context.Context, link, counter string, within stats.Range) iter.Seq2[stats.Share, error] {
	c, args := asked(counter, within, []any{link})
	label, cells, rows := c.ColumnOf(models.KindText), s.schema.Cells(c, c.ColumnOf(models.KindText)+", "+c.Column), pieceRows
	switch {
	case c.Interval == "":
	case within.To == 0 || stats.Month.End(within.From) != within.To: // a label may have several rows
		return rowsOf(ctx, s.db, counter, scanShare, cells, args...)
	default: // with an equality SQLite goes by the primary key, in the order of the labels
		table := models.TableOf(c.Keyspace, c.Table)
		cells, args = s.schema.Select(table, label+", "+c.Column, table.Partition, table.Rows[:2]), []any{link, c.Name, day(within.From)}
		rows = monthRows
	}
	return smallPieces(ctx, s.db, rows, counter, scanShare, cells+" AND "+label+" >= ? AND "+label+" IS NOT ? ORDER BY "+label, args,
		[]any{"", nil}, func(last stats.Share) []any { return []any{last.Label, last.Label} })
}

// Amounts implements stats.Store.
func (s *Stats) Amounts(ctx context.Context, link string, within stats.Range) iter.Seq2[stats.Amount, error] {
	c, args := asked(models.NumValues, within, []any{link})
	scan := func(rows *sql.Rows) (a stats.Amount, err error) {
		return a, rows.Scan((*moment)(&a.Start), &a.Num, &a.Sum)
	}
	return rowsOf(ctx, s.db, "amounts", scan, s.schema.Cells(c, "day, num_values, sum_values")+" ORDER BY day", args...)
}

// Latest implements stats.Store.
func (s *Stats) Latest(ctx context.Context, link string, at models.Millis) iter.Seq2[stats.Click, error] {
	type kept struct {
		stats.Click
		ts int64
		at string
	}
	scan := func(rows *sql.Rows) (c kept, err error) {
		err = rows.Scan(&c.ts, &c.at, &c.Country, &c.Referrer, &c.IP, &c.Bot, &c.ID)
		c.At = time.UnixMilli(c.ts).UTC()
		return c, err
	}
	pieces := piecesOf(ctx, s.db, "the latest clicks", scan, "SELECT ts, at, country, referrer, ip, bot, id FROM urlshortener.latestclicks_kept"+
		" WHERE short_url = ? AND day = ? AND expires > ? AND (ts, at) < (?, ?) ORDER BY ts DESC, at DESC",
		[]any{link, day(at), time.Now().UnixMilli()}, []any{int64(math.MaxInt64), ""}, func(last kept) []any { return []any{last.ts, last.at} })
	return func(yield func(stats.Click, error) bool) {
		for c, err := range pieces {
			if !yield(c.Click, err) {
				return
			}
		}
	}
}
