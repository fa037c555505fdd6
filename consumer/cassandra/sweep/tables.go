// Package sweep does what commands need of all rows that remember visitors: it removes those of months that are over, or of a person, and
// compares them with the counters. Visitors of sites are in two tables: visitors has a row for each visitor and month, GuidData one for each
// sighting of those who are not there.
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

func (t Tables) guidData() string { return t.Names.Cardinality + `.GuidData` }

func (t Tables) visitors() visitorrow.Table { return visitorrow.Of(t.Names.Cardinality, t.Plan) }

// partition is one Cassandra partition of visitors of a site.
type partition struct {
	inRows   bool // of the table visitors, else of GuidData
	site     string
	interval string        // of GuidData only
	start    models.Millis // of the interval, or the month
	bucket   string
}

const (
	guidDataKey   = `siteId, interval_size, interval_start, bucket`
	guidDataWhere = ` WHERE siteId = ? AND interval_size = ? AND interval_start = ? AND bucket = ?`
)

// where is the condition that selects the partition, and its values.
func (p partition) where() (string, []any) {
	if p.inRows {
		return visitorrow.Where, visitorrow.Partition{Site: p.site, Month: p.start, Bucket: p.bucket}.Args()
	}
	return guidDataWhere, []any{p.site, p.interval, p.start.Time(), p.bucket}
}

// table is the one that has the partition.
func (t Tables) table(p partition) string {
	if p.inRows {
		return t.visitors().Name
	}
	return t.guidData()
}

// month is that of the visitors' rows that have the partition's sightings, or would have them.
func (p partition) month() models.Millis {
	if p.inRows {
		return p.start
	}
	row, _ := models.Sighting{Interval: p.interval, Start: p.start}.Row()
	return row.Month
}

// over tells whether nobody is counted by the partition's rows any more. Visitors' rows end with their month, and so do the sightings of that month
// in GuidData: both are removed together.
func (p partition) over(before models.Millis) bool {
	if p.inRows {
		return models.IntervalEnd(models.IntervalMonth, p.start) <= before
	}
	return models.IntervalEnd(p.interval, p.start) <= before
}

// eachPartition calls each with every partition of visitors of sites in a range of the ring.
func (t Tables) eachPartition(ctx context.Context, r walk.Range, each func(partition) error) error {
	p := partition{}
	var start time.Time
	read := func(key, table string, columns ...any) error {
		scanner := t.Session.Query(`SELECT DISTINCT ` + key + ` FROM ` + table + r.Where(key)).
			WithContext(ctx).PageSize(1000).RetryPolicy(walk.Patience).Iter().Scanner()
		for scanner.Next() {
			if err := scanner.Scan(columns...); err != nil {
				return err
			}
			p.start = models.Millis(start.UnixMilli())
			if err := each(p); err != nil {
				return err
			}
		}
		return scanner.Err()
	}
	if err := read(guidDataKey, t.guidData(), &p.site, &p.interval, &start, &p.bucket); err != nil {
		return err
	}
	p = partition{inRows: true}
	return read(visitorrow.PartitionKey, t.visitors().Name, &p.site, &start, &p.bucket)
}
