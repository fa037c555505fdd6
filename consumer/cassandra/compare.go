package cassandra

import (
	"context"
	"fmt"
	"sync"
	"time"

	"footfall/consumer/cassandra/walk"
	"footfall/consumer/store"
	"footfall/models"
)

var _ store.CompareStore = (*Store)(nil)

// linkTable says in which table and column a counter of links is.
type linkTable struct{ table, clustering, column, counter string }

var linkTables = []linkTable{
	{models.ClickCounter, "", "value", models.ClickCounter},
	{models.UniqueCounter, "", "value", models.UniqueCounter},
	{models.BotCounter, "", "value", models.BotCounter},
	{models.HourCounters, "hour", "value", models.HourCounters},
	{models.DayCounters, "day", "value", models.DayCounters},
	{models.CountryCounters, "country", "value", models.CountryCounters},
	{models.ReferrerCounters, "referrer", "value", models.ReferrerCounters},
	{"amountcounters", "day", models.NumValues, models.NumValues},
	{"amountcounters", "day", models.SumValues, models.SumValues},
}

// Cells implements store.CompareStore: it reads one partition of each table. It leaves out counters that are 0.
func (s *Store) Cells(ctx context.Context, key models.Key) (map[models.Cell]int64, error) {
	if key.Keyspace == models.Cardinality {
		return s.siteCells(ctx, key)
	}
	found, err := s.LinkCells(ctx, []models.Key{key})
	return found[key], err
}

// LinkCells implements store.CompareStore: it reads one token range of each table, from the first of these links to the last.
func (s *Store) LinkCells(ctx context.Context, links []models.Key) (map[models.Key]map[models.Cell]int64, error) {
	out := make(map[models.Key]map[models.Cell]int64, len(links))
	for _, link := range links {
		out[link] = map[models.Cell]int64{}
	}
	where := around(links).Where(`short_url`)
	var mu sync.Mutex
	err := s.each(ctx, len(linkTables), func(ctx context.Context, i int) error {
		err := s.eachLinkCell(ctx, linkTables[i], where, func(link models.Key, cell models.Cell, n int64) {
			mu.Lock()
			defer mu.Unlock()
			if cells := out[link]; cells != nil && n != 0 {
				cells[cell] = n
			}
		})
		if err != nil {
			return fmt.Errorf("reading %s: %w", linkTables[i].table, markDisconnected(err))
		}
		return nil
	})
	return out, err
}

// LinkLedgers implements store.CompareStore: it reads one token range of the ledger.
func (s *Store) LinkLedgers(ctx context.Context, links []models.Key) (map[models.Key][]store.LedgerRow, error) {
	out := make(map[models.Key][]store.LedgerRow, len(links))
	for _, link := range links {
		out[link] = nil
	}
	err := s.eachLedger(ctx, models.URLShortener, around(links), func(k store.KeyLedger) error {
		if _, wanted := out[k.Key]; wanted {
			out[k.Key] = k.Rows
		}
		return nil
	})
	return out, err
}

func (s *Store) eachLinkCell(ctx context.Context, t linkTable, where string, each func(models.Key, models.Cell, int64)) error {
	link, cell := models.Key{Keyspace: models.URLShortener}, models.Cell{Counter: t.counter}
	var at time.Time
	var n int64
	selected, columns := `short_url, `+t.column, []any{&link.Name, &n}
	switch t.clustering {
	case "":
	case "hour", "day":
		selected, columns = selected+`, `+t.clustering, append(columns, &at)
	default:
		selected, columns = selected+`, `+t.clustering, append(columns, &cell.Label)
	}
	scanner := s.session.Query(`SELECT ` + selected + ` FROM ` + s.names.URLShortener + `.` + t.table + where).
		WithContext(ctx).PageSize(1000).RetryPolicy(walk.Patience).Iter().Scanner()
	for scanner.Next() {
		n = 0 // a column may be null
		if err := scanner.Scan(columns...); err != nil {
			return err
		}
		if !at.IsZero() {
			cell.At = models.Millis(at.UnixMilli())
		}
		each(link, cell, n)
	}
	return scanner.Err()
}

func (s *Store) siteCells(ctx context.Context, key models.Key) (map[models.Cell]int64, error) {
	cells := map[models.Cell]int64{}
	scanner := s.session.Query(s.cql.siteCells, keyArgs(key)...).WithContext(ctx).Iter().Scanner()
	for scanner.Next() {
		var cell models.Cell
		var at time.Time
		var n int64
		if err := scanner.Scan(&cell.Counter, &at, &n); err != nil {
			return nil, fmt.Errorf("reading Counts: %w", err)
		}
		if cell.At = models.Millis(at.UnixMilli()); n != 0 {
			cells[cell] = n
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("reading Counts: %w", err)
	}
	return cells, nil
}
