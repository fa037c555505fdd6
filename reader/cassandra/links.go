package cassandra

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/gocql/gocql"

	"footfall/internal/tables"
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
	err = together(ctx, read(s.cql.longURL, &t.LongURL), read(s.cql.counter[models.ClickCounter].total, &t.Clicks),
		read(s.cql.counter[models.UniqueCounter].total, &t.Unique), read(s.cql.counter[models.BotCounter].total, &t.Bots))
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

// keyArgs are the values of the columns of a key.
func keyArgs(key models.Key) []any { return tables.AppendKey(nil, key, tables.Moment) }

func millis(t time.Time) models.Millis { return models.Millis(t.UnixMilli()) }

func scanPoint(row gocql.Scanner) (p stats.Point, err error) {
	var start time.Time
	err = row.Scan(&start, &p.Count)
	p.Start = millis(start)
	return p, err
}

func scanShare(row gocql.Scanner) (s stats.Share, err error) { return s, row.Scan(&s.Label, &s.Count) }

func scanName(row gocql.Scanner) (name string, err error) { return name, row.Scan(&name) }

// Points implements stats.Store.
func (s *Store) Points(ctx context.Context, key models.Key, counter string, within stats.Range) iter.Seq2[stats.Point, error] {
	of := s.cql.counter[counter]
	from, to := between(within)
	return rowsOf(ctx, s, counter, scanPoint, of.points, tables.AppendRange(keyArgs(key), of.Counter, from, to)...)
}

// Shares implements stats.Store.
func (s *Store) Shares(ctx context.Context, link, counter string, within stats.Range) iter.Seq2[stats.Share, error] {
	of := s.cql.counter[counter]
	from, to := between(within)
	query := s.session.Query(of.shares, tables.AppendRange([]any{link}, of.Counter, from, to)...).PageSize(pageRows)
	if of.Interval != "" {
		query.PageSize(monthRows)
	}
	return scanned(ctx, query, counter, scanShare)
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
