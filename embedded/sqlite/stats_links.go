package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"time"

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

// Clicks implements stats.Store.
func (s *Stats) Clicks(ctx context.Context, link string, unit stats.Unit, within stats.Range) iter.Seq2[stats.Point, error] {
	if unit == stats.Hour {
		from, to := between(within, hourOf)
		return rowsOf(ctx, s.db, "clicks by hour", scanPoint, "SELECT hour, value FROM urlshortener.hourcounters"+
			" WHERE short_url = ? AND hour >= ? AND hour < ? ORDER BY hour", link, from, to)
	}
	from, to := between(within, day)
	return rowsOf(ctx, s.db, "clicks by day", scanPoint, "SELECT day, value FROM urlshortener.daycounters"+
		" WHERE short_url = ? AND day >= ? AND day < ? ORDER BY day", link, from, to)
}

// Countries implements stats.Store.
func (s *Stats) Countries(ctx context.Context, link string) iter.Seq2[stats.Share, error] {
	return rowsOf(ctx, s.db, "countries", scanShare,
		"SELECT country, value FROM urlshortener.countrycounters WHERE short_url = ? ORDER BY country", link)
}

// Referrers implements stats.Store.
func (s *Stats) Referrers(ctx context.Context, link string) iter.Seq2[stats.Share, error] {
	return rowsOf(ctx, s.db, "referrers", scanShare,
		"SELECT referrer, value FROM urlshortener.referrercounters WHERE short_url = ? ORDER BY referrer", link)
}

// Amounts implements stats.Store.
func (s *Stats) Amounts(ctx context.Context, link string, within stats.Range) iter.Seq2[stats.Amount, error] {
	from, to := between(within, day)
	scan := func(rows *sql.Rows) (a stats.Amount, err error) {
		var at string
		if err := rows.Scan(&at, &a.Num, &a.Sum); err != nil {
			return a, err
		}
		a.Start, err = parseTime(at)
		return a, err
	}
	return rowsOf(ctx, s.db, "amounts", scan, "SELECT day, num_values, sum_values FROM urlshortener.amountcounters"+
		" WHERE short_url = ? AND day >= ? AND day < ? ORDER BY day", link, from, to)
}

// Latest implements stats.Store.
func (s *Stats) Latest(ctx context.Context, link string, at models.Millis) iter.Seq2[stats.Click, error] {
	scan := func(rows *sql.Rows) (c stats.Click, err error) {
		var ts int64
		err = rows.Scan(&ts, &c.Country, &c.Referrer, &c.IP, &c.Bot, &c.ID)
		c.At = time.UnixMilli(ts).UTC()
		return c, err
	}
	return rowsOf(ctx, s.db, "the latest clicks", scan, "SELECT ts, country, referrer, ip, bot, id FROM urlshortener.latestclicks_kept"+
		" WHERE short_url = ? AND day = ? AND expires > ? ORDER BY ts DESC, at DESC", link, day(at), time.Now().UnixMilli())
}

// Links implements stats.Store.
func (s *Stats) Links(ctx context.Context, at models.Millis) iter.Seq2[string, error] {
	return rowsOf(ctx, s.db, "the links of a day", scanName, "SELECT short_url FROM urlshortener.links_by_day WHERE day = ?"+
		" ORDER BY bucket, short_url", day(at))
}
