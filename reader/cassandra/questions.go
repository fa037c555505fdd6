package cassandra

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"footfall/internal/cql"
	"footfall/internal/tables"
	"footfall/models"
	"footfall/reader/stats"
)

// Link implements stats.Store.
func (s *Store) Link(ctx context.Context, link string) (t stats.LinkTotals, err error) {
	queries := []string{s.cql.longURL, s.cql.counter[models.ClickCounter].total, s.cql.counter[models.UniqueCounter].total, s.cql.counter[models.BotCounter].total}
	into := []any{&t.LongURL, &t.Clicks, &t.Unique, &t.Bots} // zero if there is no row
	err = cql.AtOnce(ctx, len(queries), len(queries), func(ctx context.Context, i int) error {
		return cql.One(s.session.Query(queries[i], link).WithContext(ctx), into[i])
	})
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

// Points implements stats.Store.
func (s *Store) Points(ctx context.Context, key models.Key, counter string, within stats.Range) iter.Seq2[stats.Point, error] {
	of := s.cql.counter[counter]
	from, to := between(within)
	return rowsOf(ctx, s, counter, (*stats.Point).Columns, of.points, tables.AppendRange(keyArgs(key), of.Counter, from, to)...)
}

// Shares implements stats.Store.
func (s *Store) Shares(ctx context.Context, link, counter string, within stats.Range) iter.Seq2[stats.Share, error] {
	of := s.cql.counter[counter]
	from, to := between(within)
	query := s.session.Query(of.shares, tables.AppendRange([]any{link}, of.Counter, from, to)...).PageSize(pageRows)
	if of.Interval != "" {
		query.PageSize(monthRows)
	}
	return scanned(ctx, query, counter, (*stats.Share).Columns)
}

// Amounts implements stats.Store.
func (s *Store) Amounts(ctx context.Context, link string, within stats.Range) iter.Seq2[stats.Amount, error] {
	from, to := between(within)
	return rowsOf(ctx, s, "amounts", (*stats.Amount).Columns, s.cql.amounts, link, from, to)
}

// Latest implements stats.Store.
func (s *Store) Latest(ctx context.Context, link string, day models.Millis) iter.Seq2[stats.Click, error] {
	return rowsOf(ctx, s, "the latest clicks", (*stats.Click).Columns, s.cql.latest, link, day.Time())
}

// Counts implements stats.Store: one partition.
func (s *Store) Counts(ctx context.Context, key models.Key) ([]stats.Count, error) {
	return collected(rowsOf(ctx, s, "the counts of a key", (*stats.Count).Columns, s.cql.counts, keyArgs(key)...))
}

// Names implements stats.Store: all buckets by one request.
func (s *Store) Names(ctx context.Context, of models.Name, within models.NameRange) iter.Seq2[string, error] {
	args := of.Append(nil, tables.Moment)
	args = args[:len(args)-1] // its value; the bucket is the last of the partition
	if of.Bucket() != "" {
		args[len(args)-1] = models.NameBuckets()
	}
	return rowsOf(ctx, s, of.List, tables.Column[string], s.cql.list[of.List], append(args, within.From, within.To)...)
}

// Progress implements stats.Store: one partition.
func (s *Store) Progress(ctx context.Context) ([]stats.Progress, error) {
	return collected(rowsOf(ctx, s, "progress", (*stats.Progress).Columns, s.cql.progress))
}

// Partitions implements stats.Store. Consumers record the number before they count.
func (s *Store) Partitions(ctx context.Context, topic string) (n int, err error) {
	var value string
	query := s.session.Query(`SELECT value FROM `+s.names.Footfall+`.settings WHERE name = ?`, "topic "+topic+": partitions")
	if err = cql.One(query.WithContext(ctx), &value); err == nil && value != "" {
		n, err = strconv.Atoi(value)
	}
	if err != nil {
		return 0, fmt.Errorf("reading the number of partitions: %w", err)
	}
	return n, nil
}

// Doubts implements stats.Store. It reads the whole table, which has a row for each open doubt: a few, and rarely any.
func (s *Store) Doubts(ctx context.Context) (map[string]int, error) {
	out := map[string]int{}
	for topic, err := range rowsOf(ctx, s, "doubts", tables.Column[string], s.cql.doubts) {
		if err != nil {
			return nil, err
		}
		out[topic]++
	}
	return out, nil
}

// done is the state of a retirement whose visits are all counted: see consumer retire.
const done = "done"

// RetiredBefore implements stats.Store.
func (s *Store) RetiredBefore(ctx context.Context) (latest models.Millis, err error) {
	var before models.Millis
	var state string
	err = cql.Each(s.session.Query(s.cql.retired).WithContext(ctx), func() error {
		if state == done {
			latest = max(latest, before)
		}
		return nil
	}, &before, &state)
	if err != nil {
		return 0, fmt.Errorf("reading what is retired: %w", err)
	}
	return latest, nil
}
