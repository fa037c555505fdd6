// Package dump reads every row of every table that analysts query, from Cassandra or SQLite, into cells in the form of the oracle's.
package dump

import (
	"fmt"
	"slices"

	"footfall/test/e2e/oracle"
)

// table is one table: its key columns in order, which of them are times, and its counter. A table without a counter has a row for each
// visitor.
type table struct {
	keyspace, name string
	key            []string
	times          map[string]bool
	counter        string
}

// tables are the documented tables, with features of these names, by default feature1 and feature2. All names are in lower case, since
// CQL and SQL ignore case. A table with two counters is listed twice.
func tables(features []string) []table {
	if len(features) == 0 {
		features = []string{"feature1", "feature2"}
	}
	return []table{
		{"urlshortener", "clickcounter", []string{"short_url"}, nil, "value"},
		{"urlshortener", "hourcounters", []string{"short_url", "hour"}, map[string]bool{"hour": true}, "value"},
		{"urlshortener", "daycounters", []string{"short_url", "day"}, map[string]bool{"day": true}, "value"},
		{"urlshortener", "countrycounters", []string{"short_url", "country"}, nil, "value"},
		{"urlshortener", "referrercounters", []string{"short_url", "referrer"}, nil, "value"},
		{"urlshortener", "monthcounters", []string{"short_url", "dimension", "month", "label"}, map[string]bool{"month": true}, "value"},
		{"urlshortener", "uniquecounter", []string{"short_url"}, nil, "value"},
		{"urlshortener", "uniquecounterips", []string{"short_url", "ip"}, nil, ""},
		{"urlshortener", "amountcounters", []string{"short_url", "day"}, map[string]bool{"day": true}, "num_values"},
		{"urlshortener", "amountcounters", []string{"short_url", "day"}, map[string]bool{"day": true}, "sum_values"},
		{"urlshortener", "botcounter", []string{"short_url"}, nil, "value"},
		{
			"cardinality", "guiddata",
			slices.Concat(rowColumns, features),
			map[string]bool{"interval_start": true}, "",
		},
		{
			"cardinality", "counts",
			slices.Concat([]string{"siteid", "month_interval_start"}, features, []string{"metric_type", "interval_start"}),
			map[string]bool{"month_interval_start": true, "interval_start": true}, "visits",
		},
	}
}

// The columns with the place in the log of a visitor's first event.
const partitionColumn, offsetColumn = "kafka_partition", "kafka_offset"

// Dump is what a store holds.
type Dump struct {
	Cells oracle.Cells
	// Firsts counts, by Kafka partition, the visitors whose first event is in it.
	Firsts map[int64]int64
}

// add adds one row: key values in the order of t.key, then the counter, or partition and offset of the first event.
func (d *Dump) add(t table, key []any, numbers []*int64) error {
	columns := make([]any, 0, 2*len(key))
	for i, value := range key {
		columns = append(columns, t.key[i], value)
	}
	name := oracle.Name(t.cell(), columns...)
	if _, twice := d.Cells[name]; twice {
		return fmt.Errorf("two rows %s", name)
	}
	for _, n := range numbers {
		if n == nil {
			return fmt.Errorf("%s: null where a number must be", name)
		}
	}
	if t.counter != "" {
		d.Cells[name] = *numbers[0]
		return nil
	}
	if *numbers[0] < 0 || *numbers[1] < 0 {
		return fmt.Errorf("%s: first seen at partition %d, offset %d", name, *numbers[0], *numbers[1])
	}
	d.Cells[name] = 1
	d.Firsts[*numbers[0]]++
	return nil
}

// cell is the beginning of the names of the table's cells, with the counter's name if the table has two.
func (t table) cell() string {
	if t.name == "amountcounters" {
		return t.keyspace + "." + t.name + "." + t.counter
	}
	return t.keyspace + "." + t.name
}

// values are the columns after the key, in the order that add takes them.
func (t table) values() []string {
	if t.counter != "" {
		return []string{t.counter}
	}
	return []string{partitionColumn, offsetColumn}
}
