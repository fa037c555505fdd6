package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"footfall/internal/tables"
	"footfall/models"
	"footfall/reader/stats"
)

// Stats implements stats.Store on the files of a running store, or without one. It cannot change anything. It is safe for concurrent
// use, and the caller closes it.
type Stats struct {
	db     *sql.DB
	plan   *models.Plan
	schema tables.Schema
}

var _ stats.Store = (*Stats)(nil)

// statsConnections is how many connections there are at the most, each with some files; other questions wait. No sequence keeps one while
// it is run through: its client may be slow.
const statsConnections = 8

// OpenStats opens the databases in dir for reading. They must have the tables of this version: a Store has opened them before. The
// error is an fs.ErrNotExist where there are none yet.
func OpenStats(ctx context.Context, dir string) (*Stats, error) {
	r, err := OpenReader(dir)
	if err != nil {
		return nil, err
	}
	r.db.SetMaxOpenConns(statsConnections)
	r.db.SetMaxIdleConns(statsConnections)
	var record string
	var plan *models.Plan
	err = r.db.QueryRowContext(ctx, "SELECT value FROM footfall.settings WHERE name = 'plan'").Scan(&record)
	if err == nil {
		plan, err = models.ReadPlan(record)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the counts in %s: reading the plan: %w", dir, err), r.Close())
	}
	return &Stats{db: r.db, plan: plan, schema: tables.Schema{Plan: plan}}, nil
}

// Close releases the files; no method and no sequence may be under way.
func (s *Stats) Close() error { return s.db.Close() }

// Plan implements stats.Store.
func (s *Stats) Plan() *models.Plan { return s.plan }

// rowsOf runs a query when its sequence is run through. It has all rows before it gives out the first: a client may be slow, and SQLite
// cannot empty its log (WAL) while a query is open. For lists that have no bound there is piecesOf. what is for errors.
func rowsOf[T any](ctx context.Context, db *sql.DB, what string, scan func(*sql.Rows) (T, error), query string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		list, err := listOf(ctx, db, what, scan, query, args...)
		tell(list, err, yield)
	}
}

// pieceRows is how many rows piecesOf has in memory; of a list by month, of which many may be read at once, monthRows.
const pieceRows, monthRows = 5000, 250

// piecesOf is rowsOf for long lists: it asks again and again for the rows after the last one. The query ends with parameters for that row,
// as after gives them, and for their number. first are those for the beginning.
func piecesOf[T any](ctx context.Context, db *sql.DB, what string, scan func(*sql.Rows) (T, error), query string, args, first []any, after func(T) []any) iter.Seq2[T, error] {
	return smallPieces(ctx, db, pieceRows, what, scan, query, args, first, after)
}

// smallPieces is piecesOf with so many rows.
func smallPieces[T any](ctx context.Context, db *sql.DB, rows int, what string, scan func(*sql.Rows) (T, error), query string, args, first []any, after func(T) []any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for last := first; ; {
			piece, err := listOf(ctx, db, what, scan, query+" LIMIT ?", slices.Concat(args, last, []any{rows})...)
			if !tell(piece, err, yield) || len(piece) < rows {
				return
			}
			last = after(piece[len(piece)-1])
		}
	}
}

// tell gives out rows, or the error. It returns false if no more are wanted, or after an error.
func tell[T any](list []T, err error, yield func(T, error) bool) bool {
	if err != nil {
		var none T
		yield(none, err)
		return false
	}
	for _, row := range list {
		if !yield(row, nil) {
			return false
		}
	}
	return true
}

// listOf runs a query, and has all of its rows. what is for errors.
func listOf[T any](ctx context.Context, db *sql.DB, what string, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	list, err := collect(ctx, db, scan, query, args...)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", what, err)
	}
	return list, nil
}

func collect[T any](ctx context.Context, db *sql.DB, scan func(*sql.Rows) (T, error), query string, args ...any) (list []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err below has what there is to say
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, rows.Err()
}

func scanShare(rows *sql.Rows) (row stats.Share, err error) {
	return row, rows.Scan(&row.Label, &row.Count)
}

func scanName(rows *sql.Rows) (name string, err error) { return name, rows.Scan(&name) }

func scanPoint(rows *sql.Rows) (p stats.Point, err error) {
	return p, rows.Scan((*moment)(&p.Start), &p.Count)
}

// moment is read from a text as day and bucket write it.
type moment models.Millis

// Scan implements sql.Scanner.
func (m *moment) Scan(column any) error {
	text, ok := column.(string)
	if !ok {
		return fmt.Errorf("%v is no text", column)
	}
	layout := dayLayout
	if len(text) > len(dayLayout) {
		layout = hourLayout
	}
	t, err := time.Parse(layout, text)
	*m = moment(t.UnixMilli())
	return err
}

// between are the bounds of a range as text, for a column that write has written. Open ends are texts before and after all moments.
func between(within stats.Range, write func(models.Millis) any) (from, to any) {
	from, to = "", "~"
	if within.From != 0 {
		from = write(within.From)
	}
	if within.To != 0 && within.To <= models.Latest { // later years have five digits
		to = write(within.To)
	}
	return from, to
}
