package cassandra

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gocql/gocql"

	"footfall/consumer/rollup"
	"footfall/models"
)

var _ rollup.CompareStore = (*Store)(nil)

// Cells implements rollup.CompareStore: one partition of each table. A counter of 0 is as good as none.
func (s *Store) Cells(ctx context.Context, key models.Key) (map[models.Cell]int64, error) {
	if key.Keyspace == models.Cardinality {
		return s.siteCells(ctx, key)
	}
	cells := map[models.Cell]int64{}
	for _, counter := range []string{models.ClickCounter, models.UniqueCounter, models.BotCounter} {
		var n int64
		err := s.session.Query(s.cql.read[counter], key.Name).WithContext(ctx).Scan(&n)
		if err != nil && !errors.Is(err, gocql.ErrNotFound) {
			return nil, fmt.Errorf("reading %s: %w", counter, err)
		}
		if n != 0 {
			cells[models.Cell{Counter: counter}] = n
		}
	}
	var at time.Time
	var label string
	for _, t := range []struct {
		table, clustering, column, counter string
		into                               any
	}{
		{models.HourCounters, "hour", "value", models.HourCounters, &at},
		{models.DayCounters, "day", "value", models.DayCounters, &at},
		{models.CountryCounters, "country", "value", models.CountryCounters, &label},
		{models.ReferrerCounters, "referrer", "value", models.ReferrerCounters, &label},
		{"amountcounters", "day", models.NumValues, models.NumValues, &at},
		{"amountcounters", "day", models.SumValues, models.SumValues, &at},
	} {
		var n int64
		scanner := s.session.Query(`SELECT `+t.clustering+`, `+t.column+` FROM `+s.names.urlshortener+`.`+t.table+
			` WHERE short_url = ?`, key.Name).WithContext(ctx).Iter().Scanner()
		for scanner.Next() {
			if err := scanner.Scan(t.into, &n); err != nil {
				return nil, fmt.Errorf("reading %s: %w", t.table, err)
			}
			cell := models.Cell{Counter: t.counter}
			if t.into == any(&at) {
				cell.At = models.Millis(at.UnixMilli())
			} else {
				cell.Label = label
			}
			if n != 0 {
				cells[cell] = n
			}
		}
		if err := scanner.Err(); err != nil {
			return nil, fmt.Errorf("reading %s: %w", t.table, err)
		}
	}
	return cells, nil
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
