// Package exporttest compares exports with the simulator's truth, on any store.
package exporttest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"footfall/reader/export"
	_ "footfall/reader/export/parquet" // the format that a program may leave out
)

// Row is a row as texts, by column. A cell that is null is absent.
type Row map[string]string

// Read reads the rows of an export.
func Read(t testing.TB, format export.Format, file []byte) []Row {
	t.Helper()
	rows, err := map[export.Format]func([]byte) ([]Row, error){export.CSV: readCSV, export.NDJSON: readNDJSON, export.Parquet: readParquet}[format](file)
	if err != nil {
		t.Fatalf("reading %s: %v", format, err)
	}
	return rows
}

func readCSV(file []byte) (out []Row, err error) {
	lines, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, line := range lines[1:] {
		row := Row{}
		for i, cell := range line {
			if cell != "" {
				row[lines[0][i]] = strings.TrimPrefix(cell, "'") // as docs/reader.md says
			}
		}
		out = append(out, row)
	}
	return out, nil
}

func readNDJSON(file []byte) (out []Row, err error) {
	for line := range bytes.Lines(file) {
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.UseNumber()
		cells := map[string]any{}
		if err := decoder.Decode(&cells); err != nil {
			return nil, err
		}
		row := Row{}
		for name, cell := range cells {
			if cell != nil {
				row[name] = fmt.Sprint(cell)
			}
		}
		out = append(out, row)
	}
	return out, nil
}

func readParquet(text []byte) (out []Row, err error) {
	file, err := parquet.OpenFile(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return nil, err
	}
	columns := file.Schema().Columns()
	for _, group := range file.RowGroups() {
		rows := group.Rows()
		buffer := make([]parquet.Row, 100)
		for err == nil {
			var n int
			n, err = rows.ReadRows(buffer)
			for _, values := range buffer[:n] {
				row := Row{}
				for _, v := range values {
					name := strings.Join(columns[v.Column()], "/")
					switch {
					case v.IsNull():
					case name == "start":
						row[name] = time.UnixMilli(v.Int64()).UTC().Format(time.RFC3339)
					default:
						row[name] = v.String()
					}
				}
				out = append(out, row)
			}
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err = rows.Close(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
