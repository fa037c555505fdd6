package dump

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"footfall/test/e2e/oracle"
)

// Cassandra reads the tables of the keyspaces whose names end in suffix, with features of these names.
func Cassandra(ctx context.Context, session *gocql.Session, suffix string, features ...string) (*Dump, error) {
	d := &Dump{Cells: oracle.Cells{}, Firsts: map[int64]int64{}}
	for _, t := range tables(features) {
		read := d.cassandraTable
		if t.name == "guiddata" {
			read = d.cassandraVisitors
		}
		if err := read(ctx, session, suffix, t); err != nil {
			return nil, fmt.Errorf("reading %s of %s%s: %w", t.name, t.keyspace, suffix, err)
		}
	}
	return d, nil
}

func (d *Dump) cassandraTable(ctx context.Context, session *gocql.Session, suffix string, t table) error {
	columns := append(append([]string{}, t.key...), t.values()...)
	query := fmt.Sprintf("SELECT %s FROM %s%s.%s", strings.Join(columns, ", "), t.keyspace, suffix, t.name)
	scanner := session.Query(query).WithContext(ctx).PageSize(5000).Iter().Scanner()
	for scanner.Next() {
		into := make([]any, 0, len(columns))
		for _, name := range t.key {
			if t.times[name] {
				into = append(into, new(time.Time))
			} else {
				into = append(into, new(string))
			}
		}
		numbers := make([]*int64, len(t.values()))
		for i := range numbers {
			into = append(into, &numbers[i])
		}
		if err := scanner.Scan(into...); err != nil {
			return err
		}
		key := into[:len(t.key)]
		for i := range key {
			switch v := key[i].(type) {
			case *time.Time:
				key[i] = *v
			case *string:
				key[i] = *v
			}
		}
		if err := d.add(t, key, numbers); err != nil {
			return err
		}
	}
	return scanner.Err()
}
