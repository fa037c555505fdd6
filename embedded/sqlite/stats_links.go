package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"math"
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

// RankedLinks implements stats.Store, as Ranked does.
func (s *Stats) RankedLinks(ctx context.Context, links []string, at models.Millis) ([]int64, error) {
	parameter, err := json.Marshal(links)
	if err != nil {
		return nil, fmt.Errorf("reading clicks of %d links: %w", len(links), err)
	}
	counts := make([]int64, len(links))
	for c, err := range rowsOf(ctx, s.db, "clicks of a day", scanRanked, "SELECT list.key, daycounters.value FROM json_each(?) AS list"+
		" CROSS JOIN urlshortener.daycounters ON short_url = list.value AND day = ?", string(parameter), day(at)) {
		if err != nil {
			return nil, fmt.Errorf("ranking %d links: %w", len(links), err)
		}
		counts[c[0]] = c[1]
	}
	return counts, nil
}

// Countries implements stats.Store.
func (s *Stats) Countries(ctx context.Context, link string) iter.Seq2[stats.Share, error] {
	return rowsOf(ctx, s.db, "countries", scanShare,
		"SELECT country, value FROM urlshortener.countrycounters WHERE short_url = ? ORDER BY country", link)
}

// Referrers implements stats.Store.
func (s *Stats) Referrers(ctx context.Context, link string) iter.Seq2[stats.Share, error] {
	return piecesOf(ctx, s.db, "referrers", scanShare, "SELECT referrer, value FROM urlshortener.referrercounters"+
		" WHERE short_url = ? AND referrer >= ? AND referrer IS NOT ? ORDER BY referrer", []any{link},
		[]any{"", nil}, func(last stats.Share) []any { return []any{last.Label, last.Label} })
}

// Amounts implements stats.Store.
func (s *Stats) Amounts(ctx context.Context, link string, within stats.Range) iter.Seq2[stats.Amount, error] {
	from, to := between(within, day)
	scan := func(rows *sql.Rows) (a stats.Amount, err error) {
		return a, rows.Scan((*moment)(&a.Start), &a.Num, &a.Sum)
	}
	return rowsOf(ctx, s.db, "amounts", scan, "SELECT day, num_values, sum_values FROM urlshortener.amountcounters"+
		" WHERE short_url = ? AND day >= ? AND day < ? ORDER BY day", link, from, to)
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

// Links implements stats.Store.
func (s *Stats) Links(ctx context.Context, at models.Millis, within models.NameRange) iter.Seq2[string, error] {
	return namesOf(ctx, s.db, "the links of a day", "SELECT short_url FROM urlshortener.links_by_day WHERE day = ?"+
		" AND short_url >= ? AND short_url <= ?", "short_url", day(at), within.From, within.To)
}
