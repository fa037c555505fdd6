// Package sweep does what commands need of all rows that remember visitors: it removes those of months that are over, or of a person, and
// compares them with the counters.
package sweep

import (
	"context"
	"time"

	"github.com/gocql/gocql"

	"footfall/consumer/cassandra/visitorrow"
	"footfall/consumer/cassandra/walk"
	"footfall/internal/cql"
	"footfall/models"
)

// Tables are the tables of one installation. Safe for concurrent use.
type Tables struct {
	Session  *gocql.Session
	Names    cql.Keyspaces
	Plan     *models.Plan
	InFlight int // requests at once
	InMemory int // how many counters of a site's month are compared at a time; default 100,000
}

func (t Tables) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	return walk.Each(ctx, t.InFlight, n, do)
}

func (t Tables) visitors() visitorrow.Table { return visitorrow.Of(t.Names.Cardinality, t.Plan) }

// over tells whether nobody is counted by the rows of a month any more.
func over(month, before models.Millis) bool {
	return models.IntervalEnd(models.IntervalMonth, month) <= before
}

// eachPartition calls each with every partition of visitors of sites in a range of the ring.
func (t Tables) eachPartition(ctx context.Context, r walk.Range, each func(visitorrow.Partition) error) error {
	scanner := t.Session.Query(`SELECT DISTINCT ` + visitorrow.PartitionKey + ` FROM ` + t.visitors().Name + r.Where(visitorrow.PartitionKey)).
		WithContext(ctx).PageSize(1000).RetryPolicy(walk.Patience).Iter().Scanner()
	for scanner.Next() {
		var p visitorrow.Partition
		var month time.Time
		if err := scanner.Scan(&p.Site, &month, &p.Bucket); err != nil {
			return err
		}
		p.Month = models.Millis(month.UnixMilli())
		if err := each(p); err != nil {
			return err
		}
	}
	return scanner.Err()
}
