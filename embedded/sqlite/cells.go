package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"footfall/models"
)

// adders are the prepared statements that add to the tables of one keyspace.
type adders struct {
	cells  map[string]*sql.Stmt // by models.Cell.Counter
	ledger *sql.Stmt
}

func prepareAdders(ctx context.Context, db *sql.DB, plan *models.Plan) (map[models.Keyspace]*adders, error) {
	var failed error
	prepare := func(query string) *sql.Stmt {
		stmt, err := db.PrepareContext(ctx, query)
		if err != nil && failed == nil {
			failed = fmt.Errorf("preparing %q: %w", query, err)
		}
		return stmt
	}
	const (
		addValue  = " ON CONFLICT DO UPDATE SET value = value + excluded.value"
		addLedger = " ON CONFLICT DO UPDATE SET from_offset = from_offset + excluded.from_offset, to_offset = to_offset + excluded.to_offset"
	)
	clicks := &adders{
		cells:  map[string]*sql.Stmt{},
		ledger: prepare("INSERT INTO urlshortener.applied VALUES (?, ?, ?, ?, ?, ?, ?)" + addLedger),
	}
	for _, table := range []string{models.ClickCounter, models.UniqueCounter, models.BotCounter} {
		clicks.cells[table] = prepare("INSERT INTO urlshortener." + table + " VALUES (?, ?)" + addValue)
	}
	for _, table := range []string{models.HourCounters, models.DayCounters, models.CountryCounters, models.ReferrerCounters} {
		clicks.cells[table] = prepare("INSERT INTO urlshortener." + table + " VALUES (?, ?, ?)" + addValue)
	}

	for column, values := range map[string]string{models.NumValues: "(?, ?, ?, 0)", models.SumValues: "(?, ?, 0, ?)"} {
		clicks.cells[column] = prepare("INSERT INTO urlshortener.amountcounters VALUES " + values +
			" ON CONFLICT DO UPDATE SET " + column + " = " + column + " + excluded." + column)
	}

	features := strings.Repeat(", ?", len(plan.Features()))
	visits := &adders{
		cells:  map[string]*sql.Stmt{},
		ledger: prepare("INSERT INTO cardinality.applied VALUES (?, ?, ?, ?, ?, ?, ?, ?" + features + ")" + addLedger),
	}
	counts := prepare("INSERT INTO cardinality.Counts VALUES (?, ?, ?, ?, ?" + features + ") ON CONFLICT DO UPDATE SET visits = visits + excluded.visits")
	for _, metric := range plan.Metrics() {
		visits.cells[metric] = counts
	}
	return map[models.Keyspace]*adders{models.URLShortener: clicks, models.Cardinality: visits}, failed
}

// partitionKey is the values of a key's columns, with which all of its rows begin.
func partitionKey(key models.Key) []any {
	if key.Keyspace == models.URLShortener {
		return []any{key.Name}
	}
	return withFeatures([]any{key.Name, day(key.Month)}, key.Features)
}

// clusteringKey is the values of a cell's columns between the partition key and the counter.
func clusteringKey(keyspace models.Keyspace, cell models.Cell) []any {
	if keyspace == models.Cardinality {
		return []any{cell.Counter, bucket(cell)}
	}
	switch cell.Counter {
	case models.HourCounters, models.DayCounters, models.NumValues, models.SumValues:
		return []any{bucket(cell)}
	case models.CountryCounters, models.ReferrerCounters:
		return []any{cell.Label}
	}
	return nil
}
