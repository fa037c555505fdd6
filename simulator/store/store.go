// Package store reads what footfall counted, from Cassandra or from the files of embedded. It never writes.
package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"footfall/simulator/tables"
)

// Scope is what to read: the rows of a site, and those of links.
type Scope struct {
	Site     string
	Features []string // the columns' names
	Links    []string
}

// Store is an open store.
type Store interface {
	// Behind reports whether a counter is still below want, by a cheap read: then there is no need to Read yet. A store whose Read is cheap
	// may always say no.
	Behind(ctx context.Context, c Counter, want int64) (bool, error)
	// Read returns every row of the scope.
	Read(context.Context, Scope) (tables.Cells, error)
	Close() error
	String() string // where it is, for messages
}

// Counter is one counter of a row, with the row's whole key.
type Counter struct {
	Table   string // with its keyspace
	Column  string
	Columns []string
	Key     []any
}

// Clicks is the number of clicks of a link.
func Clicks(link string) Counter {
	return Counter{"urlshortener.clickcounter", "value", []string{"short_url"}, []any{link}}
}

// Month is a metric of a month for all visits of the scope's site.
func (s Scope) Month(metric string, month time.Time) Counter {
	c := Counter{"cardinality.Counts", "visits", []string{"siteId", "month_interval_start"}, []any{s.Site, month}}
	for _, f := range s.Features {
		c.Columns, c.Key = append(c.Columns, f), append(c.Key, "")
	}
	c.Columns, c.Key = append(c.Columns, "metric_type", "interval_start"), append(c.Key, metric, month)
	return c
}

// table is one table: its name, as in tables.Name, its key columns in order, and its counter; a table of visitors has none. The first
// column of the key selects the rows of a site or link.
type table struct {
	keyspace, name string
	key            []string
	counter        string
}

// counts is the table of a site's counters.
func (s Scope) counts() table {
	key := append([]string{"siteId", "month_interval_start"}, s.Features...)
	return table{"cardinality", "Counts", append(key, "metric_type", "interval_start"), "visits"}
}

var linkTables = []table{
	{"urlshortener", "clickcounter", []string{"short_url"}, "value"},
	{"urlshortener", "hourcounters", []string{"short_url", "hour"}, "value"},
	{"urlshortener", "daycounters", []string{"short_url", "day"}, "value"},
	{"urlshortener", "countrycounters", []string{"short_url", "country"}, "value"},
	{"urlshortener", "referrercounters", []string{"short_url", "referrer"}, "value"},
	{"urlshortener", "monthcounters", []string{"short_url", "dimension", "month", "label"}, "value"},
	{"urlshortener", "amountcounters", []string{"short_url", "day"}, "num_values"},
	{"urlshortener", "amountcounters", []string{"short_url", "day"}, "sum_values"},
	{"urlshortener", "uniquecounter", []string{"short_url"}, "value"},
	{"urlshortener", "uniquecounterips", []string{"short_url", "ip"}, ""},
	{"urlshortener", "botcounter", []string{"short_url"}, "value"},
}

// isTime reports whether a column of a key is a time.
func isTime(column string) bool {
	return column == "hour" || column == "day" || column == "month" || strings.HasSuffix(column, "interval_start")
}

// query selects the rows of one site or link. In Cassandra siteId is only a part of the partition key, so that needs filtering.
func (t table) query(suffix, filtering string) string {
	columns := t.key
	if t.counter != "" {
		columns = append(append([]string{}, t.key...), t.counter)
	}
	return fmt.Sprintf("SELECT %s FROM %s%s.%s WHERE %s = ?%s", strings.Join(columns, ", "), t.keyspace, suffix, t.name, t.key[0], filtering)
}

// add adds one row to cells.
func (t table) add(cells tables.Cells, key []any, counter int64) error {
	label := t.name
	if t.counter == "num_values" || t.counter == "sum_values" { // of two in one row
		label += "." + t.counter
	}
	name := tables.Name(label, key...)
	if _, twice := cells[name]; twice {
		return fmt.Errorf("two rows %s", name)
	}
	if t.counter == "" {
		counter = 1
	}
	cells[name] = counter
	return nil
}

// visitors selects what is remembered of a site's visitors.
func visitors(keyspace string) string {
	return "SELECT bucket, guid, seen FROM " + keyspace + ".GuidData WHERE siteId = ?"
}

// each calls read for every table and name of the scope, but for GuidData.
func (s Scope) each(read func(t table, name string) error) error {
	if err := read(s.counts(), s.Site); err != nil {
		return fmt.Errorf("reading Counts: %w", err)
	}
	for _, t := range linkTables {
		for _, link := range s.Links {
			if err := read(t, link); err != nil {
				return fmt.Errorf("reading %s: %w", t.name, err)
			}
		}
	}
	return nil
}
