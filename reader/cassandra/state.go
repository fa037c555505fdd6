package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/gocql/gocql"

	"footfall/models"
	"footfall/reader/stats"
)

// Progress implements stats.Store: one partition.
func (s *Store) Progress(ctx context.Context) ([]stats.Progress, error) {
	scan := func(row gocql.Scanner) (p stats.Progress, err error) {
		return p, row.Scan(&p.Partition.Topic, &p.Partition.Number, &p.Counted, &p.LogEnd, &p.EventTime, &p.At)
	}
	return collected(rowsOf(ctx, s, "progress", scan, s.cql.progress))
}

// Partitions implements stats.Store. Consumers record the number before they count.
func (s *Store) Partitions(ctx context.Context, topic string) (n int, err error) {
	var value string
	err = s.session.Query(s.cql.setting, "topic "+topic+": partitions").WithContext(ctx).Scan(&value)
	if err == nil && value != "" {
		n, err = strconv.Atoi(value)
	}
	if err != nil && !errors.Is(err, gocql.ErrNotFound) {
		return 0, fmt.Errorf("reading the number of partitions: %w", err)
	}
	return n, nil
}

// Doubts implements stats.Store. It reads the whole table, which has a row for each open doubt: a few, and rarely any.
func (s *Store) Doubts(ctx context.Context) (map[string]int, error) {
	out := map[string]int{}
	for topic, err := range rowsOf(ctx, s, "doubts", scanName, s.cql.doubts) {
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
	type retirement struct {
		before time.Time
		state  string
	}
	scan := func(row gocql.Scanner) (r retirement, err error) { return r, row.Scan(&r.before, &r.state) }
	for r, err := range rowsOf(ctx, s, "what is retired", scan, s.cql.retired) {
		if err != nil {
			return 0, err
		}
		if r.state == done {
			latest = max(latest, millis(r.before))
		}
	}
	return latest, nil
}
