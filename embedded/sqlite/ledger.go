package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"footfall/consumer/store"
	"footfall/internal/tables"
	"footfall/models"
)

// perStatement is how many rows one statement reads or writes. They are passed as one JSON array.
const perStatement = 10_000

// ledgerQueries read the ledgers of many keys.
func ledgerQueries(schema tables.Schema) map[models.Keyspace]string {
	queries := map[models.Keyspace]string{}
	for _, keyspace := range []models.Keyspace{models.URLShortener, models.Cardinality} {
		ledger := models.TableOf(keyspace, models.LedgerTable)
		queries[keyspace] = lookUp(schema, ledger, schema.List(ledger.Rows, ledger.Values), ledger.Partition)
	}
	return queries
}

// lookUp reads columns of many rows, each after the place of its key in a JSON array of keys (?1), of which the first is at ?2. CROSS JOIN makes SQLite loop over the array and
// look up each element, never the other way round.
func lookUp(schema tables.Schema, t models.Table, columns string, key ...[]models.Column) string {
	query := "SELECT ?2 + k.key, " + columns + " FROM json_each(?1) k CROSS JOIN " + schema.Name(t) + " t WHERE "
	for i, name := range schema.Plan.ColumnNames(key...) {
		if i > 0 {
			query += " AND "
		}
		query += fmt.Sprintf("t.%s = k.value ->> %d", name, i)
	}
	return query
}

// Ledger implements store.Store.
func (s *Store) Ledger(ctx context.Context, keys []models.Key, found func(int, []store.LedgerRow)) error {
	of := map[models.Keyspace][]int{}
	for i, key := range keys {
		of[key.Keyspace] = append(of[key.Keyspace], i)
	}
	for keyspace, places := range of {
		if err := s.ledger(ctx, keyspace, keys, places, found); err != nil {
			return fmt.Errorf("reading the ledger of %d keys of %s: %w", len(places), keyspace, err)
		}
	}
	return nil
}

func (s *Store) ledger(ctx context.Context, keyspace models.Keyspace, keys []models.Key, places []int, found func(int, []store.LedgerRow)) error {
	query, ok := s.ledgerOf[keyspace]
	if !ok {
		return fmt.Errorf("no keyspace %q", keyspace)
	}
	at, rows := -1, []store.LedgerRow(nil) // the rows of a key follow each other
	tell := func() {
		if at >= 0 {
			found(places[at], rows)
		}
	}
	var i int
	var row store.LedgerRow
	err := eachAsked(ctx, s.readers, query, len(places), func(i int) []any { return tables.AppendKey(nil, keys[places[i]], day) }, func() error {
		if i != at {
			tell()
			at, rows = i, nil
		}
		rows = append(rows, row)
		return nil
	}, append([]any{&i}, row.Columns()...))
	if err == nil {
		tell()
	}
	return err
}

// eachAsked runs a query about n rows, perStatement at a time, and each for its answer. ?1 are the rows, ?2 is the place of the first.
func eachAsked(ctx context.Context, db *sql.DB, query string, n int, row func(i int) []any, do func() error, into []any, more ...any) error {
	for begin := 0; begin < n; begin += perStatement {
		some := make([][]any, min(perStatement, n-begin))
		for i := range some {
			some[i] = row(begin + i)
		}
		parameter, err := asJSON(some)
		if err != nil {
			return err
		}
		if err := each(ctx, db, do, into, query, append([]any{parameter, begin}, more...)...); err != nil {
			return err
		}
	}
	return nil
}
