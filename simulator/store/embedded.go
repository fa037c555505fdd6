package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver

	"footfall/simulator/tables"
)

type embedded struct {
	dir       string
	databases map[string]*sql.DB // by keyspace
}

// OpenEmbedded opens the databases in the data directory of embedded, which may be running.
func OpenEmbedded(dir string) (_ Store, err error) {
	e := &embedded{dir: dir, databases: map[string]*sql.DB{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	absolute, err := filepath.Abs(dir) // in a file: URI a relative path would be read as a host
	if err != nil {
		return nil, fmt.Errorf("opening the counts in %s: %w", dir, err)
	}
	for _, keyspace := range []string{"cardinality", "urlshortener"} {
		file := filepath.Join(absolute, keyspace+".db")
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("opening the counts: %w (set FOOTFALL_DATA_DIR to their directory)", err)
		}
		uri := url.URL{Scheme: "file", Path: file, RawQuery: "mode=ro&_pragma=busy_timeout(5000)"}
		db, err := sql.Open("sqlite", uri.String())
		if err != nil {
			return nil, fmt.Errorf("opening %s: %w", file, err)
		}
		e.databases[keyspace] = db
	}
	return e, nil
}

// IsEmbedded reports whether a directory has the databases of embedded.
func IsEmbedded(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cardinality.db"))
	return err == nil
}

func (e *embedded) String() string { return "the files in " + e.dir }

func (e *embedded) Close() (err error) {
	for _, db := range e.databases {
		err = errors.Join(err, db.Close())
	}
	return err
}

// Behind implements Store. It always says no, since Read is cheap here.
func (e *embedded) Behind(context.Context, Counter, int64) (bool, error) { return false, nil }

// Read implements Store.
func (e *embedded) Read(ctx context.Context, s Scope) (tables.Cells, error) {
	cells := tables.Cells{}
	err := s.each(func(t table, name string) error { return e.read(ctx, t, name, cells) })
	if err == nil {
		err = e.addVisitors(ctx, s.Site, cells)
	}
	return cells, err
}

func (e *embedded) addVisitors(ctx context.Context, site string, cells tables.Cells) (err error) {
	rows, err := e.databases["cardinality"].QueryContext(ctx, visitors("main"), site)
	if err != nil {
		return fmt.Errorf("reading visitors: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var bucket, guid string
		var text []byte
		var seen []string
		if err := rows.Scan(&bucket, &guid, &text); err != nil {
			return fmt.Errorf("reading visitors: %w", err)
		}
		if err := json.Unmarshal(text, &seen); err != nil {
			return fmt.Errorf("an entry of GuidData has %q: %w", text, err)
		}
		if err := cells.AddSeen(site, bucket, guid, seen); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (e *embedded) read(ctx context.Context, t table, name string, cells tables.Cells) (err error) {
	database := e.databases[t.keyspace]
	t.keyspace = "main"
	rows, err := database.QueryContext(ctx, t.query("", ""), name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		texts, into, counter := make([]string, len(t.key)), []any{}, int64(0)
		for i := range texts {
			into = append(into, &texts[i])
		}
		if t.counter != "" {
			into = append(into, &counter)
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		key := make([]any, len(texts))
		for i, column := range t.key {
			key[i] = texts[i]
			if !isTime(column) {
				continue
			}
			if key[i], err = parseTime(texts[i]); err != nil {
				return err
			}
		}
		if err := t.add(cells, key, counter); err != nil {
			return err
		}
	}
	return rows.Err()
}

// parseTime parses a time of the files: a date, with the time of day in rows of an hour.
func parseTime(text string) (time.Time, error) {
	if day, err := time.Parse("2006-01-02", text); err == nil {
		return day, nil
	}
	return time.Parse("2006-01-02 15:04", text)
}
