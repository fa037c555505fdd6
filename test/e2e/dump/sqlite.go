package dump

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"footfall/test/e2e/oracle"
)

// SQLite reads the tables of embedded, which may be running: a file for each keyspace in dir, with features of these names.
func SQLite(ctx context.Context, dir string, features ...string) (*Dump, error) {
	d := &Dump{Cells: oracle.Cells{}, Firsts: map[int64]int64{}}
	for _, keyspace := range []string{"urlshortener", "cardinality"} {
		db, err := OpenSQLite(dir, keyspace)
		if err != nil {
			return nil, err
		}
		for _, t := range tables(features) {
			if t.keyspace != keyspace {
				continue
			}
			read := d.sqliteTable
			if t.name == "guiddata" {
				read = d.sqliteVisitors
			}
			if err := read(ctx, db, t); err != nil {
				return nil, errors.Join(fmt.Errorf("reading %s.%s: %w", t.keyspace, t.name, err), db.Close())
			}
		}
		if err := db.Close(); err != nil {
			return nil, fmt.Errorf("closing %s: %w", keyspace, err)
		}
	}
	return d, nil
}

// OpenSQLite opens the file of a keyspace for reading.
func OpenSQLite(dir, keyspace string) (*sql.DB, error) {
	uri := url.URL{Scheme: "file", Path: filepath.Join(dir, keyspace+".db"), RawQuery: "mode=ro&_pragma=busy_timeout(5000)"}
	db, err := sql.Open("sqlite", uri.String())
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", keyspace, err)
	}
	return db, nil
}

func (d *Dump) sqliteTable(ctx context.Context, db *sql.DB, t table) (err error) {
	columns := append(slices.Clone(t.key), t.values()...)
	rows, err := db.QueryContext(ctx, fmt.Sprintf("SELECT %s FROM %s", strings.Join(columns, ", "), t.name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		texts, numbers := make([]string, len(t.key)), make([]*int64, len(t.values()))
		var into []any
		for i := range texts {
			into = append(into, &texts[i])
		}
		for i := range numbers {
			into = append(into, &numbers[i])
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		key, err := t.typed(texts)
		if err != nil {
			return err
		}
		if err := d.add(t, key, numbers); err != nil {
			return err
		}
	}
	return rows.Err()
}

// typed parses the texts that are times. They must have the form that analysts type: a date, with the time of day only in rows of an hour.
func (t table) typed(texts []string) ([]any, error) {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
		if !t.times[t.key[i]] {
			continue
		}
		layout := "2006-01-02"
		if t.key[i] == "hour" || t.key[i] == "interval_start" && t.about(texts, "metric_type") == "hour_views" {
			layout += " 15:04"
		}
		at, err := time.Parse(layout, text)
		if err != nil {
			return nil, fmt.Errorf("%s of %q: %w", t.key[i], texts, err)
		}
		out[i] = at
	}
	return out, nil
}

// about is the value of a key column, empty if the table has none of that name.
func (t table) about(texts []string, column string) string {
	if i := slices.Index(t.key, column); i >= 0 {
		return texts[i]
	}
	return ""
}
