package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"

	"footfall/internal/tables"
	"footfall/models"
	"footfall/reader/stats"
)

// Counts implements stats.Store.
func (s *Stats) Counts(ctx context.Context, key models.Key) ([]stats.Count, error) {
	scan := func(rows *sql.Rows) (c stats.Count, err error) {
		return c, rows.Scan(&c.Metric, (*moment)(&c.Start), &c.Count)
	}
	counts := models.TableOf(models.Cardinality, models.SiteCounts)
	return listOf(ctx, s.db, "the counts of a key", scan, s.schema.Select(counts, "metric_type, interval_start, visits", counts.Partition),
		tables.AppendKey(nil, key, day)...)
}

// Ranked implements stats.Store: one statement looks each of the keys up by its primary key. A list of them as JSON takes a fifth of
// the time of a statement for each.
func (s *Stats) Ranked(ctx context.Context, keys []models.Key, counter string, within stats.Range) ([]int64, error) {
	list := make([][]any, len(keys))
	for i, key := range keys {
		list[i] = tables.AppendKey(nil, key, day)
	}
	parameter, err := asJSON(list)
	if err != nil {
		return nil, fmt.Errorf("reading %s of %d keys: %w", counter, len(keys), err)
	}
	c, args := asked(counter, within, []any{parameter, 0})
	table := models.TableOf(c.Keyspace, c.Table)
	scan := func(rows *sql.Rows) (row [2]int64, err error) { return row, rows.Scan(&row[0], &row[1]) }
	rows, err := listOf(ctx, s.db, counter, scan, lookUp(s.schema, table, "t."+c.Column, table.Partition)+s.schema.Range(c), args...)
	if err != nil {
		return nil, fmt.Errorf("ranking %d keys: %w", len(keys), err)
	}
	counts := make([]int64, len(keys))
	for _, row := range rows {
		counts[row[0]] += row[1]
	}
	return counts, nil
}

// Names implements stats.Store. The condition says "this one or later, but not this one", for the first has none before it.
func (s *Stats) Names(ctx context.Context, of models.Name, within models.NameRange) iter.Seq2[string, error] {
	table := of.Table()
	name, args := table.Rows[0].Name, of.Append(nil, day)
	args = args[:len(args)-1] // its value
	if of.Bucket() == "" {
		return piecesOf(ctx, s.db, of.List, scanName, s.schema.Select(table, name, table.Partition)+" AND "+name+" <= ? AND "+name+" >= ? AND "+name+
			" IS NOT ? ORDER BY "+name, append(args, within.To), []any{within.From, nil}, func(last string) []any { return []any{last, last} })
	}
	period := table.Partition[:len(table.Partition)-1] // without the bucket
	args = append(args[:len(args)-1], within.From, within.To)
	return piecesOf(ctx, s.db, of.List, scanName, s.schema.Select(table, name, period)+" AND "+name+" >= ? AND "+name+" <= ? AND (bucket, "+name+") >= (?, ?) AND "+
		name+" IS NOT ? ORDER BY bucket, "+name, args, []any{"", "", nil}, func(last string) []any { return []any{models.NameBucket(last), last, last} })
}
