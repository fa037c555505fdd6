package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"footfall/simulator/store"
	"footfall/simulator/tables"
)

// counted is a store that holds these rows.
type counted tables.Cells

func (counted) Behind(context.Context, store.Counter, int64) (bool, error) { return false, nil }
func (c counted) Read(context.Context, store.Scope) (tables.Cells, error) {
	return tables.Cells(c), nil
}
func (counted) Close() error   { return nil }
func (counted) String() string { return "a store" }

// --verify fails if a row is missing, differs, or should not be there, and only then.
func TestVerifyFails(t *testing.T) {
	f := func(rows counted, want string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			c := &comparison{from: rows, want: tables.Cells{"a": 1, "b": 2}}
			err := c.await(t.Context(), options{wait: time.Minute}, nil, nil, io.Discard)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%v: %v, want %q", rows, err, want)
			}
		})
	}
	f(counted{"a": 1, "b": 2}, "")
	f(counted{"a": 1}, "1 rows differ after 1m0s")
	f(counted{"a": 1, "b": 3}, "1 rows differ after 1m0s")
	f(counted{"a": 1, "b": 2, "c": 1}, "1 rows differ after 1m0s")
	f(counted{}, "2 rows differ")
}
