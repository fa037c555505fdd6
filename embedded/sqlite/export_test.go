package sqlite

import (
	"context"
	"database/sql"
	"fmt"
)

// SetVersion writes a schema version, as a later footfall would.
func SetVersion(s *Store, database string, version int) error {
	_, err := s.writer.Exec(fmt.Sprintf("PRAGMA %s.user_version = %d", database, version))
	return err
}

// Exec changes the files without the store's own methods.
func Exec(s *Store, statement string) error {
	_, err := s.writer.Exec(statement)
	return err
}

// Pragma reads a pragma of the writer connection.
func Pragma(s *Store, name string) (value string, err error) {
	return value, s.writer.QueryRow("PRAGMA " + name).Scan(&value)
}

// Plan is SQLite's plan for a query.
func Plan(s *Store, query string) (steps []string, err error) {
	rows, err := s.readers.Query("EXPLAIN QUERY PLAN " + query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return nil, err
		}
		steps = append(steps, detail)
	}
	return steps, rows.Err()
}

// PerStatement is how many rows one statement reads or writes.
const PerStatement = perStatement

// PieceRows is how many rows of a long list are read at once.
const PieceRows = pieceRows

// StatsConnections is how many connections a Stats may have.
const StatsConnections = statsConnections

// TakeConnections takes connections, as long questions would, until they are released.
func TakeConnections(ctx context.Context, s *Stats, n int) (release func(), err error) {
	var taken []*sql.Conn
	release = func() {
		for _, c := range taken {
			_ = c.Close()
		}
	}
	for range n {
		c, err := s.db.Conn(ctx)
		if err != nil {
			release()
			return nil, err
		}
		taken = append(taken, c)
	}
	return release, nil
}

// Checkpoint empties the log of a database; busy says that somebody reads from it.
func Checkpoint(s *Store, database string) (busy bool, err error) {
	var pages, done int
	return busy, s.writer.QueryRow("PRAGMA "+database+".wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &done)
}

// WhileWriting calls do while the only writer is busy.
func WhileWriting(s *Store, do func()) error {
	return s.write(context.Background(), "testing", func(context.Context, *sql.Tx) error {
		do()
		return nil
	})
}

// Columns are a table's columns, and those of its primary key in its order.
func Columns(s *Store, database, table string) (columns, key []string, err error) {
	rows, err := s.readers.Query("SELECT name, pk FROM pragma_table_info(?, ?) ORDER BY cid", table, database)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = rows.Close() }()
	places := map[int]string{}
	for rows.Next() {
		var name string
		var place int
		if err := rows.Scan(&name, &place); err != nil {
			return nil, nil, err
		}
		if columns = append(columns, name); place > 0 {
			places[place] = name
		}
	}
	for i := range len(places) {
		key = append(key, places[i+1])
	}
	return columns, key, rows.Err()
}
