// Package parquet makes exports as Parquet possible for a program that imports it. One process does not, since compiling it takes a sixth of the time
// until `make run` answers for the first time.
package parquet

import (
	"fmt"
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"

	"footfall/models"
	"footfall/reader/export"
)

func init() {
	export.NewParquet, export.Formats = newWriter, append(export.Formats, export.Parquet)
}

// A row group is in memory until it is written. It ends after so many rows, or so many bytes of names, which may be long.
const (
	groupRows  = 32 << 10
	groupBytes = 512 << 10
	batchRows  = 256 // handed over at once
)

// writer writes Parquet. Its schema is made at run time: features are configured.
type writer struct {
	to      *parquet.GenericWriter[any]
	columns []export.Column
	batch   []parquet.Row
	rows    int   // of the row group
	bytes   int   // of its names
	last    []any // names of the row before: the dictionary has one of each
}

func newWriter(to io.Writer, columns []export.Column) export.Writer {
	fields := make([]reflect.StructField, len(columns)) // parquet.Group would sort them by name
	for i, c := range columns {
		kind, tag := reflect.TypeFor[string](), c.Name+",dict"
		switch c.Type {
		case export.Integer:
			kind, tag = reflect.TypeFor[int64](), c.Name
		case export.Moment:
			kind, tag = reflect.TypeFor[int64](), c.Name+",timestamp(millisecond:utc),dict"
		}
		if c.Nullable {
			tag += ",optional"
		}
		fields[i] = reflect.StructField{Name: fmt.Sprintf("C%d", i), Type: kind, Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag))}
	}
	schema := parquet.NewSchema("counts", parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface()))
	return &writer{columns: columns, last: make([]any, len(columns)),
		to: parquet.NewGenericWriter[any](to, schema, parquet.Compression(&parquet.Snappy), parquet.CreatedBy("footfall", "1", "reader"))}
}

func (w *writer) Row(cells []any) error {
	row := make(parquet.Row, len(cells))
	for i, c := range cells {
		present := 0
		if w.columns[i].Nullable && c != nil {
			present = 1
		}
		switch v := c.(type) {
		case models.Millis:
			row[i] = parquet.Int64Value(int64(v))
		case nil:
			row[i] = parquet.NullValue()
		case string:
			if w.last[i] != c {
				w.last[i] = c
				w.bytes += len(v)
			}
			row[i] = parquet.ValueOf(v)
		default:
			row[i] = parquet.ValueOf(c)
		}
		row[i] = row[i].Level(0, present, i)
	}
	w.rows++
	if w.batch = append(w.batch, row); len(w.batch) < batchRows {
		return nil
	}
	if err := w.flushBatch(); err != nil || w.rows < groupRows && w.bytes < groupBytes {
		return err
	}
	w.rows, w.bytes = 0, 0
	return w.to.Flush()
}

func (w *writer) flushBatch() error {
	_, err := w.to.WriteRows(w.batch)
	w.batch = w.batch[:0]
	return err
}

func (w *writer) Close() error {
	if err := w.flushBatch(); err != nil {
		return err
	}
	return w.to.Close()
}
