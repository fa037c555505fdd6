package cassandra

import (
	"context"
	"iter"
	"time"

	"github.com/gocql/gocql"

	"footfall/internal/tables"
	"footfall/models"
	"footfall/reader/stats"
)

// Counts implements stats.Store: one partition.
func (s *Store) Counts(ctx context.Context, key models.Key) ([]stats.Count, error) {
	scan := func(row gocql.Scanner) (c stats.Count, err error) {
		var start time.Time
		err = row.Scan(&c.Metric, &start, &c.Count)
		c.Start = millis(start)
		return c, err
	}
	return collected(rowsOf(ctx, s, "the counts of a key", scan, s.cql.counts, keyArgs(key)...))
}

// Names implements stats.Store: all buckets by one request.
func (s *Store) Names(ctx context.Context, of models.Name, within models.NameRange) iter.Seq2[string, error] {
	args := of.Append(nil, tables.Moment)
	args = args[:len(args)-1] // its value; the bucket is the last of the partition
	if of.Bucket() != "" {
		args[len(args)-1] = models.NameBuckets()
	}
	return rowsOf(ctx, s, of.List, scanName, s.cql.list[of.List], append(args, within.From, within.To)...)
}
