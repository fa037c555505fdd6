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

// busyTimeout is how long a connection waits for a lock. Footfall holds none for long; somebody with another tool may.
const busyTimeout = "5000"

// file is the path of a database in dir.
func file(dir, database string) string { return filepath.Join(dir, database+".db") }

// connector opens connections and attaches the databases: ATTACH is per connection, and database/sql may open new ones at any time.
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

// pool opens the databases of dir and sets the pragmas for each. mode is that of SQLite's URIs: rwc, rw or ro. The main database is empty
// and in memory, since a file that is the main database would have the name main.
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
