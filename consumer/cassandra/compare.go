package cassandra

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"footfall/consumer/store"
	"footfall/internal/cql"
	"footfall/models"
)

var _ store.CompareStore = (*Store)(nil)

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
	where := around(links).where(`short_url`)
	var mu sync.Mutex
	all := s.linkTables()
	err := s.each(ctx, len(all), func(ctx context.Context, i int) error {
		err := s.eachLinkCell(ctx, all[i], where, func(link models.Key, cell models.Cell, n int64) {
			mu.Lock()
			defer mu.Unlock()
			if cells := out[link]; cells != nil && n != 0 {
				cells[cell] = n
			}
		})
		if err != nil {
			return fmt.Errorf("reading %s: %w", all[i][0].Table, markDisconnected(err))
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

// linkTables are the kept counters of links, by table.
func (s *Store) linkTables() (out [][]models.Counter) {
	for _, c := range s.plan.Counters() {
		last := len(out) - 1
		switch {
		case c.Keyspace != models.URLShortener:
		case last >= 0 && out[last][0].Table == c.Table:
			out[last] = append(out[last], c)
		default:
			out = append(out, []models.Counter{c})
		}
	}
	return out
}

// eachLinkCell reads the counters of a table.
func (s *Store) eachLinkCell(ctx context.Context, of []models.Counter, where string, each func(models.Key, models.Cell, int64)) error {
	link, cell, table := models.Key{Keyspace: models.URLShortener}, models.Cell{}, models.TableOf(models.URLShortener, of[0].Table)
	columns, numbers := []any{&link.Name}, make([]int64, len(table.Values))
	for _, column := range table.Rows {
		switch column.Kind {
		case models.KindTag:
			columns = append(columns, &cell.Counter)
		case models.KindTime:
			columns = append(columns, &cell.At)
		default:
			columns = append(columns, &cell.Label)
		}
	}
	for i := range numbers {
		columns = append(columns, &numbers[i])
	}
	query := s.session.Query(`SELECT ` + s.schema.List(table.Partition, table.Rows, table.Values) + ` FROM ` + s.schema.Name(table) + where).
		WithContext(ctx).PageSize(1000).RetryPolicy(patience)
	return cql.Each(query, func() error {
		for i, column := range table.Values {
			if len(numbers) > 1 || cell.Counter == "" { // no column has its name
				cell.Counter = of[slices.IndexFunc(of, func(c models.Counter) bool { return c.Column == column.Name })].Name
			}
			each(link, cell, numbers[i])
		}
		clear(numbers) // a column may be null
		return nil
	}, columns...)
}

func (s *Store) siteCells(ctx context.Context, key models.Key) (map[models.Cell]int64, error) {
	cells, cell := map[models.Cell]int64{}, models.Cell{}
	var n int64
	err := cql.Each(s.session.Query(s.cql.siteCells, keyArgs(key)...).WithContext(ctx), func() error {
		if n != 0 {
			cells[cell] = n
		}
		return nil
	}, &cell.Counter, &cell.At, &n)
	if err != nil {
		return nil, fmt.Errorf("reading Counts: %w", err)
	}
	return cells, nil
}
