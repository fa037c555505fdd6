package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"footfall/internal/tables"
	"footfall/models"
)

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
