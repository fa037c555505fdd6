package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"iter"
	"slices"
	"time"

	"footfall/models"
	"footfall/reader/stats"
)

// each runs a query, scans each row into these places, and calls row. It ends with the first error.
func each(ctx context.Context, db *sql.DB, row func() error, into []any, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err below has what there is to say
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := row(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// listOf runs a query, and has all of its rows. what is for errors; into says where the columns of a row go.
func listOf[T any](ctx context.Context, db *sql.DB, what string, into func(*T) []any, query string, args ...any) (list []T, err error) {
	var row T
	if err := each(ctx, db, func() error { list = append(list, row); return nil }, places(into(&row)), query, args...); err != nil {
		return nil, fmt.Errorf("reading %s: %w", what, err)
	}
	return list, nil
}

// rowsOf runs a query when its sequence is run through. It has all rows before it gives out the first: a client may be slow, and SQLite
// cannot empty its log (WAL) while a query is open. For lists that have no bound there is piecesOf. what is for errors.
func rowsOf[T any](ctx context.Context, db *sql.DB, what string, into func(*T) []any, query string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		list, err := listOf(ctx, db, what, into, query, args...)
		tell(list, err, yield)
	}
}

// pieceRows is how many rows of a long list piecesOf has in memory; of a list by month, of which many may be read at once, monthRows.
const pieceRows, monthRows = 5000, 250

// piecesOf is rowsOf for long lists: it asks again and again for so many rows after the last one. The query ends with parameters for that row,
// as after gives them, and for their number. first are those for the beginning.
func piecesOf[T any](ctx context.Context, db *sql.DB, rows int, what string, into func(*T) []any, query string, args, first []any, after func(T) []any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for last := first; ; {
			piece, err := listOf(ctx, db, what, into, query+" LIMIT ?", slices.Concat(args, last, []any{rows})...)
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

const (
	dayLayout  = "2006-01-02"
	hourLayout = "2006-01-02 15:04"
)

// day is the text of the start of a day, week or month.
func day(t models.Millis) any { return t.Time().Format(dayLayout) }

// hour is the text of the start of an hour: with the time of day, even at midnight.
func hour(t models.Millis) any { return t.Time().Format(hourLayout) }

// timeOf says how the times of a counter are written.
func timeOf(c models.Counter) func(models.Millis) any {
	if c.Interval == models.IntervalHour {
		return hour
	}
	return day
}

// places are where the columns of a row go, and come from, with times as the tables have them.
func places(columns []any) []any {
	for i, column := range columns {
		switch column := column.(type) {
		case *models.Millis:
			columns[i] = (*moment)(column)
		case *time.Time:
			columns[i] = (*instant)(column)
		}
	}
	return columns
}

// instant is in a table as Unix milliseconds.
type instant time.Time

// Value implements driver.Valuer.
func (i *instant) Value() (driver.Value, error) { return time.Time(*i).UnixMilli(), nil }

// Scan implements sql.Scanner. What is not known is the zero time.
func (i *instant) Scan(column any) error {
	switch millis := column.(type) {
	case nil:
		*i = instant{}
	case int64:
		*i = instant(time.UnixMilli(millis).UTC())
	default:
		return fmt.Errorf("%v is no number of milliseconds", column)
	}
	return nil
}

// moment is in a table as a text of day or hour.
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
