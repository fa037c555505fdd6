package export

import (
	"io"
	"time"

	"footfall/models"
	"footfall/reader/table"
)

// Format is how rows are written. It is also the ending of a file's name.
type Format string

// The formats.
const (
	CSV     Format = "csv"
	NDJSON  Format = "ndjson"
	Parquet Format = "parquet"
)

// Formats are the formats that this program has, and NewParquet makes a writer of Parquet. A program that imports reader/export/parquet has that, too.
var (
	Formats    = []Format{CSV, NDJSON}
	NewParquet func(to io.Writer, columns []Column) Writer
)

// Writer writes rows: cells are text, int64, models.Millis or nil. Close writes what is left; it closes nothing else.
type Writer interface {
	Row(cells []any) error
	Close() error
}

func (f Format) writer(to io.Writer, columns []Column) Writer {
	if f == Parquet {
		return NewParquet(to, columns)
	}
	w := &textWriter{to: to, buf: make([]byte, 0, pieceBytes+pieceBytes/4), json: f == NDJSON}
	for _, c := range columns {
		w.columns = append(w.columns, c.Name)
	}
	if f == CSV {
		w.buf = table.AppendHeader(w.buf, w.columns)
	}
	return w
}

// pieceBytes is how much text is written at once.
const pieceBytes = 64 << 10

// textWriter writes CSV or NDJSON.
type textWriter struct {
	to      io.Writer
	columns []string
	buf     []byte
	json    bool
}

func (w *textWriter) Row(cells []any) error {
	for i, c := range cells {
		if t, ok := c.(models.Millis); ok {
			cells[i] = t.Time().UTC().Format(time.RFC3339)
		}
	}
	if w.json {
		w.buf = append(table.AppendObject(w.buf, w.columns, cells), '\n')
	} else {
		w.buf = table.AppendLine(w.buf, cells)
	}
	if len(w.buf) < pieceBytes {
		return nil
	}
	return w.Close()
}

func (w *textWriter) Close() error {
	_, err := w.to.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}
