// Package sweep does what commands need of all rows that remember visitors: it removes those of months that are over, or of a person, and
// compares them with the counters.
package sweep

import (
	"context"

	"github.com/gocql/gocql"

	"footfall/consumer/cassandra/visitorrow"
	"footfall/consumer/cassandra/walk"
	"footfall/internal/cql"
	"footfall/internal/tables"
	"footfall/models"
)

// Tables are the tables of one installation. Safe for concurrent use.
type Tables struct {
	Session  *gocql.Session
	Schema   tables.Schema
	InFlight int // requests at once
	InMemory int // how many counters of a site's month are compared at a time; default 100,000
}

func (t Tables) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	return cql.AtOnce(ctx, t.InFlight, n, do)
}

// visitors has the name of the table of sites' visitors, and the condition that selects a partition of it.
func (t Tables) visitors() (name, where string) {
	return t.Schema.Name(visitorrow.Table), " WHERE " + t.Schema.Equal(visitorrow.Table.Partition)
}

// over tells whether nobody is counted by the rows of a month any more.
func over(month, before models.Millis) bool {
	return models.IntervalEnd(models.IntervalMonth, month) <= before
}

// eachPartition calls each with every partition of visitors of sites in a range of the ring.
func (t Tables) eachPartition(ctx context.Context, r walk.Range, each func(visitorrow.Partition) error) error {
	key := t.Schema.List(visitorrow.Table.Partition)
	var p visitorrow.Partition
	return cql.Each(t.Session.Query(`SELECT DISTINCT `+key+` FROM `+t.Schema.Name(visitorrow.Table)+r.Where(key)).WithContext(ctx).PageSize(1000).
		RetryPolicy(walk.Patience), func() error { return each(p) }, &p.Site, &p.Month, &p.Bucket)
}
