package cql

import "github.com/gocql/gocql"

// Each runs a query, page by page, scans each row into these pointers, and calls row. It ends with the first error.
func Each(query *gocql.Query, row func() error, into ...any) error {
	scanner := query.Iter().Scanner()
	for scanner.Next() {
		if err := scanner.Scan(into...); err != nil {
			return err
		}
		if err := row(); err != nil {
			return err
		}
	}
	return scanner.Err()
}

// All runs a query and returns its rows; into says where the columns of one go.
func All[T any](query *gocql.Query, into func(*T) []any) (rows []T, err error) {
	var row T
	err = Each(query, func() error {
		rows = append(rows, row)
		return nil
	}, into(&row)...)
	return rows, err
}
