package cql

import (
	"cmp"
	"context"
	"errors"

	"github.com/gocql/gocql"
	"golang.org/x/sync/errgroup"
)

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

// One runs a query and scans its only row into these pointers. Without a row they stay as they are.
func One(query *gocql.Query, into ...any) error {
	if err := query.Scan(into...); !errors.Is(err, gocql.ErrNotFound) {
		return err
	}
	return nil
}

// AtOnce calls do for 0 … n-1, most of them concurrently. It starts no more calls after the first error or when ctx ends. It returns nil only
// if all were done.
func AtOnce(ctx context.Context, most, n int, do func(ctx context.Context, i int) error) error {
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(most)
	for i := range n {
		if working.Err() != nil {
			break
		}
		group.Go(func() error { return do(working, i) })
	}
	return cmp.Or(group.Wait(), ctx.Err())
}
