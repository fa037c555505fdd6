package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
)

// databases are the attached files, named as the Cassandra keyspaces.
var databases = []string{"footfall", "urlshortener", "cardinality"}

// busyTimeout is how long a connection waits for a lock. Only a person with a tool of their own ever holds one for long.
const busyTimeout = "5000"

// file is where a database of dir lives.
func file(dir, database string) string { return filepath.Join(dir, database+".db") }

// connector opens connections that have the databases attached: ATTACH belongs to a connection, and database/sql may
// open new ones at any time.
type connector struct {
	driver.Connector
	setup []string
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, statement := range c.setup {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, statement, nil); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("%s: %w", statement, err)
		}
	}
	return conn, nil
}

// pool opens the databases of dir with the pragmas, each said once per database. mode is that of SQLite's URIs: rwc, rw
// or ro. The main database is an empty one in memory: were it one of the files, its name would be main.
func pool(dir, mode string, pragmas ...string) (*sql.DB, error) {
	base, err := sqlite.NewConnector("file::memory:?_txlock=immediate&_dqs=0&_pragma=busy_timeout(" + busyTimeout + ")")
	if err != nil {
		return nil, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	c := connector{Connector: base}
	for _, database := range databases {
		uri := url.URL{Scheme: "file", Path: file(dir, database), RawQuery: "mode=" + mode}
		c.setup = append(c.setup, "ATTACH '"+strings.ReplaceAll(uri.String(), "'", "''")+"' AS "+database)
		for _, pragma := range pragmas {
			c.setup = append(c.setup, "PRAGMA "+database+"."+pragma)
		}
	}
	return sql.OpenDB(c), nil
}
