package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// Reader answers analysts' queries; the store may be open in another process. It cannot write, nor open other files. It is safe for concurrent use.
type Reader struct{ db *sql.DB }

// Table is the answer to a query. NULL is the text null.
type Table struct {
	Columns []string
	Rows    [][]string
}

// OpenReader opens the databases in dir for reading. The error is an fs.ErrNotExist if there are none yet.
func OpenReader(dir string) (*Reader, error) {
	for _, database := range databases {
		if _, err := os.Stat(file(dir, database)); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("opening the counts: %w: start footfall once, or set data.dir (FOOTFALL_DATA_DIR)", err)
		} else if err != nil {
			return nil, fmt.Errorf("opening the counts: %w", err)
		}
	}
	db, err := pool(dir, "ro")
	if err != nil {
		return nil, fmt.Errorf("opening the counts: %w", err)
	}
	return &Reader{db: db}, nil
}

// Changed is when the databases in dir were last written.
func Changed(dir string) (last time.Time, err error) {
	for _, database := range databases {
		for _, log := range []string{"", "-wal"} {
			switch info, err := os.Stat(file(dir, database) + log); {
			case err == nil && info.ModTime().After(last):
				last = info.ModTime()
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				return last, fmt.Errorf("looking at the counts: %w", err)
			}
		}
	}
	return last, nil
}

// IsWrongQuery reports whether a query failed because of its text: SQLite does not understand it, or it would write.
func IsWrongQuery(err error) bool {
	var from *driver.Error
	return errors.As(err, &from) && (from.Code() == lib.SQLITE_ERROR || from.Code() == lib.SQLITE_READONLY)
}

// Close releases the files.
func (r *Reader) Close() error { return r.db.Close() }

// Query runs one SELECT, with ? for each of args.
func (r *Reader) Query(ctx context.Context, query string, args ...any) (t Table, err error) {
	defer func() {
		if err != nil {
			t, err = Table{}, fmt.Errorf("querying: %w", err)
		}
	}()
	conn, err := r.db.Conn(ctx)
	if err != nil {
		return t, err
	}
	defer func() { _ = conn.Close() }() // back to the pool
	// ATTACH and VACUUM INTO would write other files.
	if _, err := driver.Limit(conn, lib.SQLITE_LIMIT_ATTACHED, 0); err != nil {
		return t, err
	}
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return t, err
	}
	defer func() { _ = rows.Close() }() // Err below has what there is to say
	if t.Columns, err = rows.Columns(); err != nil {
		return t, err
	}
	values, into := make([]sql.NullString, len(t.Columns)), make([]any, len(t.Columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return t, err
		}
		row := make([]string, len(values))
		for i, v := range values {
			if row[i] = "null"; v.Valid {
				row[i] = v.String
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t, rows.Err()
}
