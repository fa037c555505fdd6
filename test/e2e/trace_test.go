package e2e

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"footfall/test/harness"
)

// onePartition runs queries with tracing. One that does not read exactly one partition of one table fails the test.
func (d *real) onePartition(t *testing.T, queries []string) {
	t.Helper()
	// The check must fail for queries that read two partitions, all partitions, or search for a value.
	others := []string{
		`SELECT value FROM urlshortener.clickcounter WHERE short_url IN ('abc', 'ABC')`,
		`SELECT value FROM urlshortener.clickcounter`,
		`SELECT guid FROM cardinality.GuidData WHERE guid = 'g' ALLOW FILTERING`,
	}
	all := slices.Concat(queries, others)
	for i, steps := range d.traces(t, d.own(all)) {
		switch err := onePartition(steps); {
		case i < len(queries) && err != nil:
			t.Errorf("%s\n%v", all[i], err)
		case i >= len(queries) && err == nil:
			t.Errorf("%s is taken for a read of one partition", all[i])
		}
	}
}

// Steps of a trace: a read of one partition, and any other kind of read.
var (
	singleRead = regexp.MustCompile(`^Executing single-partition query on (\w+)`)
	otherRead  = regexp.MustCompile(`(?i)range|seq scan|index|ALLOW FILTERING`)
)

// onePartition checks the steps of a trace.
func onePartition(steps []string) error {
	var reads []string
	for _, step := range steps {
		if m := singleRead.FindStringSubmatch(step); m != nil {
			reads = append(reads, m[1])
		} else if otherRead.MatchString(step) {
			return fmt.Errorf("reads more than a partition: %s", step)
		}
	}
	if len(reads) != 1 {
		return fmt.Errorf("reads partitions of %q, want one; its trace:\n%s", reads, strings.Join(steps, "\n"))
	}
	return nil
}

// tracer remembers the trace of the last query.
type tracer struct{ id []byte }

func (t *tracer) Trace(id []byte) { t.id = slices.Clone(id) }

// traces runs queries and returns the steps of their traces. Cassandra writes traces asynchronously, and late: so all queries run before
// the first trace is read.
func (d *real) traces(t *testing.T, queries []string) [][]string {
	t.Helper()
	by := make([]tracer, len(queries))
	for i, query := range queries {
		if err := d.session.Query(query).WithContext(t.Context()).Trace(&by[i]).Exec(); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	var all [][]string
	for i, query := range queries {
		all = append(all, d.steps(t, query, by[i].id))
	}
	return all
}

// steps reads the trace of a query. It is complete when its session has a duration and the number of steps no longer changes.
func (d *real) steps(t *testing.T, query string, id []byte) []string {
	t.Helper()
	var steps []string
	harness.Within(t, time.Minute, "tracing", func() error {
		var duration *int
		err := d.session.Query(`SELECT duration FROM system_traces.sessions WHERE session_id = ?`, id).Consistency(gocql.One).Scan(&duration)
		if err != nil || duration == nil {
			return errors.Join(fmt.Errorf("the trace of %s has no end", query), err)
		}
		before := len(steps)
		steps = nil
		scanner := d.session.Query(`SELECT activity FROM system_traces.events WHERE session_id = ?`, id).Consistency(gocql.One).Iter().Scanner()
		for scanner.Next() {
			var step string
			if err := scanner.Scan(&step); err != nil {
				return err
			}
			steps = append(steps, step)
		}
		if err := scanner.Err(); err != nil {
			return err
		}
		if len(steps) == 0 || len(steps) != before {
			return fmt.Errorf("the trace of %s still grows", query)
		}
		return nil
	})
	return steps
}
