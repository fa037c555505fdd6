package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"footfall/consumer/store"
	"footfall/internal/tables"
	"footfall/models"
)

// Apply implements store.Store. The writes of one keyspace are one transaction: it costs one sync of the disk, and if it fails none of
// them is applied. Only a write with a counter that no table has is refused by itself.
func (s *Store) Apply(ctx context.Context, writes []store.KeyWrite) []error {
	errs := make([]error, len(writes))
	fits := map[models.Keyspace][]int{}
	for i, w := range writes {
		if errs[i] = s.check(w); errs[i] == nil {
			fits[w.Key.Keyspace] = append(fits[w.Key.Keyspace], i)
		}
	}
	for keyspace, indexes := range fits {
		err := s.write(ctx, fmt.Sprintf("applying %d writes to %s", len(indexes), keyspace), func(ctx context.Context, tx *sql.Tx) error {
			if err := store.CheckFence(ctx); err != nil {
				return err
			}
			add := s.add[keyspace].in(ctx, tx)
			for _, i := range indexes {
				if err := add.write(ctx, writes[i]); err != nil {
					return err
				}
			}
			return nil
		})
		for _, i := range indexes {
			errs[i] = err
		}
	}
	return errs
}

func (s *Store) check(w store.KeyWrite) error {
	add := s.add[w.Key.Keyspace]
	if add == nil {
		return fmt.Errorf("applying a write: no keyspace %q", w.Key.Keyspace)
	}
	for cell := range w.Cells {
		if _, known := add.cells[cell.Counter]; !known {
			return fmt.Errorf("applying a write: keyspace %s has no counter %q", w.Key.Keyspace, cell.Counter)
		}
	}
	return nil
}

// in binds the statements to a transaction.
func (a *adders) in(ctx context.Context, tx *sql.Tx) *adders {
	bound := &adders{cells: make(map[string]adder, len(a.cells)), ledger: tx.StmtContext(ctx, a.ledger)}
	for counter, add := range a.cells {
		add.Stmt = tx.StmtContext(ctx, add.Stmt)
		bound.cells[counter] = add
	}
	return bound
}

func (a *adders) write(ctx context.Context, w store.KeyWrite) error {
	partition := tables.AppendKey(nil, w.Key, day)
	args := make([]any, 0, len(partition)+6)
	for cell, delta := range w.Cells {
		add := a.cells[cell.Counter]
		args = append(tables.AppendCell(append(args[:0], partition...), add.rows, cell, add.at), delta)
		if _, err := add.ExecContext(ctx, args...); err != nil {
			return fmt.Errorf("adding to %s: %w", cell.Counter, err)
		}
	}
	for _, row := range w.Ledger {
		args = append(append(args[:0], partition...), row.Partition.Topic, row.Partition.Number, row.Kind, row.Epoch, row.From, row.To)
		if _, err := a.ledger.ExecContext(ctx, args...); err != nil {
			return fmt.Errorf("adding to the ledger: %w", err)
		}
	}
	return nil
}

// adders are the prepared statements that add to the tables of one keyspace.
type adders struct {
	cells  map[string]adder // by models.Cell.Counter
	ledger *sql.Stmt
}

// adder adds to a counter.
type adder struct {
	*sql.Stmt
	rows []models.Column         // whose values tell its cells apart
	at   func(models.Millis) any // writes their time
}

func prepareAdders(ctx context.Context, db *sql.DB, schema tables.Schema) (map[models.Keyspace]*adders, error) {
	var failed error
	prepare := func(query string) *sql.Stmt {
		stmt, err := db.PrepareContext(ctx, query)
		if err != nil && failed == nil {
			failed = fmt.Errorf("preparing %q: %w", query, err)
		}
		return stmt
	}
	out := map[models.Keyspace]*adders{}
	for _, keyspace := range []models.Keyspace{models.URLShortener, models.Cardinality} {
		out[keyspace] = &adders{map[string]adder{}, prepare(schema.Insert(models.TableOf(keyspace, models.LedgerTable)) +
			" ON CONFLICT DO UPDATE SET from_offset = from_offset + excluded.from_offset, to_offset = to_offset + excluded.to_offset")}
	}
	for _, c := range schema.Plan.Counters() {
		table := models.TableOf(c.Keyspace, c.Table)
		numbers := make([]string, len(table.Values)) // one is added to, others begin with 0
		for i, column := range table.Values {
			if numbers[i] = "0"; column.Name == c.Column {
				numbers[i] = "?"
			}
		}
		insert, _ := strings.CutSuffix(schema.Insert(table), strings.Repeat(", ?", len(numbers))+")")
		out[c.Keyspace].cells[c.Name] = adder{prepare(insert + ", " + strings.Join(numbers, ", ") + ") ON CONFLICT DO UPDATE SET " +
			c.Column + " = " + c.Column + " + excluded." + c.Column), table.Rows, timeOf(c)}
	}
	return out, failed
}
