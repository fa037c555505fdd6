package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"footfall/internal/tables"
	"footfall/models"
	"footfall/reader/stats"
)

// Stats implements stats.Store on the files of a running store, or without one. It cannot change anything. It is safe for concurrent
// use, and the caller closes it.
type Stats struct {
	db     *sql.DB
	schema tables.Schema
}

var _ stats.Store = (*Stats)(nil)

// statsConnections is how many connections there are at the most, each with some files; other questions wait. No sequence keeps one while
// it is run through: its client may be slow.
const statsConnections = 8

// OpenStats opens the databases in dir for reading. They must have the tables of this version: a Store has opened them before. The
// error is an fs.ErrNotExist where there are none yet.
func OpenStats(ctx context.Context, dir string) (*Stats, error) {
	r, err := OpenReader(dir)
	if err != nil {
		return nil, err
	}
	r.db.SetMaxOpenConns(statsConnections)
	r.db.SetMaxIdleConns(statsConnections)
	var record string
	var plan *models.Plan
	err = r.db.QueryRowContext(ctx, "SELECT value FROM footfall.settings WHERE name = 'plan'").Scan(&record)
	if err == nil {
		plan, err = models.ReadPlan(record)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the counts in %s: reading the plan: %w", dir, err), r.Close())
	}
	return &Stats{db: r.db, schema: tables.Schema{Plan: plan}}, nil
}

// Close releases the files; no method and no sequence may be under way.
func (s *Stats) Close() error { return s.db.Close() }

// Plan implements stats.Store.
func (s *Stats) Plan() *models.Plan { return s.schema.Plan }

// Link implements stats.Store.
func (s *Stats) Link(ctx context.Context, link string) (t stats.LinkTotals, err error) {
	const query = `SELECT coalesce((SELECT long_url FROM urlshortener.urls WHERE short_url = ?1), ''),
		coalesce((SELECT value FROM urlshortener.clickcounter WHERE short_url = ?1), 0),
		coalesce((SELECT value FROM urlshortener.uniquecounter WHERE short_url = ?1), 0),
		coalesce((SELECT value FROM urlshortener.botcounter WHERE short_url = ?1), 0)`
	if err := s.db.QueryRowContext(ctx, query, link).Scan(&t.LongURL, &t.Clicks, &t.Unique, &t.Bots); err != nil {
		return stats.LinkTotals{}, fmt.Errorf("reading a link: %w", err)
	}
	return t, nil
}

// Points implements stats.Store.
func (s *Stats) Points(ctx context.Context, key models.Key, counter string, within stats.Range) iter.Seq2[stats.Point, error] {
	c, args := asked(counter, within, tables.AppendKey(nil, key, day))
	start := c.ColumnOf(models.KindTime)
	return rowsOf(ctx, s.db, counter, (*stats.Point).Columns, s.schema.Cells(c, start+", "+c.Column)+" ORDER BY "+start, args...)
}

// asked is a counter, and the parameters of a question about its cells, after those that there are.
func asked(name string, within stats.Range, args []any) (models.Counter, []any) {
	c, _ := models.CounterOf(name)
	from, to := between(within, timeOf(c))
	return c, tables.AppendRange(args, c, from, to)
}

// Shares implements stats.Store.
func (s *Stats) Shares(ctx context.Context, link, counter string, within stats.Range) iter.Seq2[stats.Share, error] {
	c, args := asked(counter, within, []any{link})
	label, cells, rows := c.ColumnOf(models.KindText), s.schema.Cells(c, c.ColumnOf(models.KindText)+", "+c.Column), pieceRows
	switch {
	case c.Interval == "":
	case within.To == 0 || stats.Month.End(within.From) != within.To: // a label may have several rows
		return rowsOf(ctx, s.db, counter, (*stats.Share).Columns, cells, args...)
	default: // with an equality SQLite goes by the primary key, in the order of the labels
		table := models.TableOf(c.Keyspace, c.Table)
		cells, args = s.schema.Select(table, label+", "+c.Column, table.Partition, table.Rows[:2]), []any{link, c.Name, day(within.From)}
		rows = monthRows
	}
	return piecesOf(ctx, s.db, rows, counter, (*stats.Share).Columns, cells+" AND "+label+" >= ? AND "+label+" IS NOT ? ORDER BY "+label, args,
		[]any{"", nil}, func(last stats.Share) []any { return []any{last.Label, last.Label} })
}

// Amounts implements stats.Store.
func (s *Stats) Amounts(ctx context.Context, link string, within stats.Range) iter.Seq2[stats.Amount, error] {
	c, args := asked(models.NumValues, within, []any{link})
	return rowsOf(ctx, s.db, "amounts", (*stats.Amount).Columns, s.schema.Cells(c, "day, num_values, sum_values")+" ORDER BY day", args...)
}

// Latest implements stats.Store.
func (s *Stats) Latest(ctx context.Context, link string, at models.Millis) iter.Seq2[stats.Click, error] {
	type kept struct {
		stats.Click
		at string
	}
	into := func(c *kept) []any { return append([]any{&c.at}, c.Columns()...) }
	pieces := piecesOf(ctx, s.db, pieceRows, "the latest clicks", into, "SELECT at, ts, country, referrer, ip, bot, id FROM urlshortener.latestclicks_kept"+
		" WHERE short_url = ? AND day = ? AND expires > ? AND (ts, at) < (?, ?) ORDER BY ts DESC, at DESC",
		[]any{link, day(at), time.Now().UnixMilli()}, []any{int64(math.MaxInt64), ""}, func(last kept) []any { return []any{last.At.UnixMilli(), last.at} })
	return func(yield func(stats.Click, error) bool) {
		for c, err := range pieces {
			if !yield(c.Click, err) {
				return
			}
		}
	}
}

// Counts implements stats.Store.
func (s *Stats) Counts(ctx context.Context, key models.Key) ([]stats.Count, error) {
	counts := models.TableOf(models.Cardinality, models.SiteCounts)
	return listOf(ctx, s.db, "the counts of a key", (*stats.Count).Columns, s.schema.Select(counts, "metric_type, interval_start, visits", counts.Partition),
		tables.AppendKey(nil, key, day)...)
}

// Ranked implements stats.Store: a statement looks many keys up by their primary keys. A list of them as JSON takes a fifth of
// the time of a statement for each.
func (s *Stats) Ranked(ctx context.Context, keys []models.Key, counter string, within stats.Range) ([]int64, error) {
	c, more := asked(counter, within, nil)
	table := models.TableOf(c.Keyspace, c.Table)
	query := lookUp(s.schema, table, "t."+c.Column, table.Partition) + s.schema.Range(c)
	counts := make([]int64, len(keys))
	var i int
	var n int64
	err := eachAsked(ctx, s.db, query, len(keys), func(i int) []any { return tables.AppendKey(nil, keys[i], day) }, func() error {
		counts[i] += n
		return nil
	}, []any{&i, &n}, more...)
	if err != nil {
		return nil, fmt.Errorf("reading %s of %d keys: %w", counter, len(keys), err)
	}
	return counts, nil
}

// Names implements stats.Store. The condition says "this one or later, but not this one", for the first has none before it.
func (s *Stats) Names(ctx context.Context, of models.Name, within models.NameRange) iter.Seq2[string, error] {
	table := of.Table()
	name, args := table.Rows[0].Name, of.Append(nil, day)
	args = args[:len(args)-1] // its value
	if of.Bucket() == "" {
		return piecesOf(ctx, s.db, pieceRows, of.List, tables.Column[string], s.schema.Select(table, name, table.Partition)+" AND "+name+" <= ? AND "+
			name+" >= ? AND "+name+" IS NOT ? ORDER BY "+name, append(args, within.To), []any{within.From, nil}, func(last string) []any { return []any{last, last} })
	}
	period := table.Partition[:len(table.Partition)-1] // without the bucket
	args = append(args[:len(args)-1], within.From, within.To)
	return piecesOf(ctx, s.db, pieceRows, of.List, tables.Column[string], s.schema.Select(table, name, period)+" AND "+name+" >= ? AND "+name+
		" <= ? AND (bucket, "+name+") >= (?, ?) AND "+name+" IS NOT ? ORDER BY bucket, "+name, args, []any{"", "", nil}, func(last string) []any { return []any{models.NameBucket(last), last, last} })
}

// Progress implements stats.Store.
func (s *Stats) Progress(ctx context.Context) ([]stats.Progress, error) {
	return listOf(ctx, s.db, "progress", (*stats.Progress).Columns, "SELECT topic, kafka_partition, counted, log_end, event_time, at FROM footfall.progress"+
		" WHERE name = 'counted'")
}

// Partitions implements stats.Store. Consumers record the number before they count.
func (s *Stats) Partitions(ctx context.Context, topic string) (n int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT CAST(value AS INTEGER) FROM footfall.settings WHERE name = ?", "topic "+topic+": partitions").Scan(&n)
	if orNoRow(err) != nil {
		return 0, fmt.Errorf("reading the number of partitions: %w", err)
	}
	return n, nil
}

// Doubts implements stats.Store.
func (s *Stats) Doubts(ctx context.Context) (map[string]int, error) {
	out := map[string]int{}
	for doubts, err := range rowsOf(ctx, s.db, "doubts", (*stats.Share).Columns, "SELECT topic, count(*) FROM footfall.doubts GROUP BY topic") {
		if err != nil {
			return nil, err
		}
		out[doubts.Label] = int(doubts.Count)
	}
	return out, nil
}

// RetiredBefore implements stats.Store: embedded retires nobody.
func (s *Stats) RetiredBefore(ctx context.Context) (models.Millis, error) { return 0, ctx.Err() }
