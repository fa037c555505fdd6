package cassandra

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/gocql/gocql"

	"footfall/models"
	"footfall/reader/stats"
)

// Link implements stats.Store.
func (s *Store) Link(ctx context.Context, link string) (t stats.LinkTotals, err error) {
	read := func(query string, into any) func(context.Context) error {
		return func(ctx context.Context) error {
			err := s.session.Query(query, link).WithContext(ctx).Scan(into)
			if errors.Is(err, gocql.ErrNotFound) {
				return nil // zero
			}
			return err
		}
	}
	err = together(ctx, read(s.cql.longURL, &t.LongURL), read(s.cql.total[models.ClickCounter], &t.Clicks),
		read(s.cql.total[models.UniqueCounter], &t.Unique), read(s.cql.total[models.BotCounter], &t.Bots))
	if err != nil {
		return stats.LinkTotals{}, fmt.Errorf("reading a link: %w", err)
	}
	return t, nil
}

// between are the bounds of a range. Open ends are moments before and after all.
func between(within stats.Range) (from, to time.Time) {
	if within.To == 0 {
		within.To = models.Latest + 1
	}
	return within.From.Time(), within.To.Time()
}

func millis(t time.Time) models.Millis { return models.Millis(t.UnixMilli()) }

func scanPoint(row gocql.Scanner) (p stats.Point, err error) {
	var start time.Time
	err = row.Scan(&start, &p.Count)
	p.Start = millis(start)
	return p, err
}

func scanShare(row gocql.Scanner) (s stats.Share, err error) { return s, row.Scan(&s.Label, &s.Count) }

func scanName(row gocql.Scanner) (name string, err error) { return name, row.Scan(&name) }

// Clicks implements stats.Store.
func (s *Store) Clicks(ctx context.Context, link string, unit stats.Unit, within stats.Range) iter.Seq2[stats.Point, error] {
	query := s.cql.days
	if unit == stats.Hour {
		query = s.cql.hours
	}
	from, to := between(within)
	return rowsOf(ctx, s, "clicks by "+string(unit), scanPoint, query, link, from, to)
}

// Countries implements stats.Store.
func (s *Store) Countries(ctx context.Context, link string) iter.Seq2[stats.Share, error] {
	return rowsOf(ctx, s, "countries", scanShare, s.cql.countries, link)
}

// Referrers implements stats.Store.
func (s *Store) Referrers(ctx context.Context, link string) iter.Seq2[stats.Share, error] {
	return rowsOf(ctx, s, "referrers", scanShare, s.cql.referrers, link)
}

// Amounts implements stats.Store.
func (s *Store) Amounts(ctx context.Context, link string, within stats.Range) iter.Seq2[stats.Amount, error] {
	from, to := between(within)
	scan := func(row gocql.Scanner) (a stats.Amount, err error) {
		var start time.Time
		err = row.Scan(&start, &a.Num, &a.Sum)
		a.Start = millis(start)
		return a, err
	}
	return rowsOf(ctx, s, "amounts", scan, s.cql.amounts, link, from, to)
}

// Latest implements stats.Store.
func (s *Store) Latest(ctx context.Context, link string, day models.Millis) iter.Seq2[stats.Click, error] {
	scan := func(row gocql.Scanner) (c stats.Click, err error) {
		var at gocql.UUID
		err = row.Scan(&at, &c.Country, &c.Referrer, &c.IP, &c.Bot, &c.ID)
		c.At = at.Time().Truncate(time.Millisecond) // the rest tells topics apart
		return c, err
	}
	return rowsOf(ctx, s, "the latest clicks", scan, s.cql.latest, link, day.Time())
}

// Links implements stats.Store.
func (s *Store) Links(ctx context.Context, day models.Millis, within models.NameRange) iter.Seq2[string, error] {
	return rowsOf(ctx, s, "the links of a day", scanName, s.cql.links, day.Time(), models.NameBuckets(), within.From, within.To)
}
