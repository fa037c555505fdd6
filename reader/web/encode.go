package web

import "footfall/reader/table"

// encoder writes an answer in one format, piece by piece, to the end of dst. Cells are text, int64, bool or nil.
type encoder interface {
	// begin writes what comes before the rows. volatile is the part of dst that says how far counting is, which changes all the time.
	begin(dst []byte, a *answer) (out []byte, volatile [2]int)
	row(dst []byte, columns []string, cells []any, first bool) []byte
	end(dst []byte, a *answer) []byte
}

type jsonEncoder struct{}

func (jsonEncoder) begin(dst []byte, a *answer) ([]byte, [2]int) {
	dst = append(dst, '{')
	for _, f := range a.head {
		dst = append(table.AppendJSON(dst, f.name), ':')
		dst = append(table.AppendJSON(dst, f.value), ',')
	}
	dst = append(dst, `"as_of":`...)
	volatile := [2]int{len(dst), 0}
	dst = append(dst, asOfJSON(a.asOf)...)
	volatile[1] = len(dst)
	if a.list != nil {
		dst = append(table.AppendJSON(append(dst, ','), a.list.name), ":["...)
	}
	return dst, volatile
}

func (jsonEncoder) row(dst []byte, columns []string, cells []any, first bool) []byte {
	if !first {
		dst = append(dst, ',')
	}
	return table.AppendObject(append(dst, '\n'), columns, cells)
}

func (jsonEncoder) end(dst []byte, a *answer) []byte {
	if a.list != nil {
		dst = append(dst, "\n]"...)
	}
	return append(dst, "}\n"...)
}

type ndjsonEncoder struct{}

func (ndjsonEncoder) begin(dst []byte, _ *answer) ([]byte, [2]int) { return dst, [2]int{} }

func (ndjsonEncoder) row(dst []byte, columns []string, cells []any, _ bool) []byte {
	return append(table.AppendObject(dst, columns, cells), '\n')
}

func (ndjsonEncoder) end(dst []byte, _ *answer) []byte { return dst }

// csvEncoder writes the columns, then the rows.
type csvEncoder struct{}

func (csvEncoder) begin(dst []byte, a *answer) ([]byte, [2]int) {
	return table.AppendHeader(dst, a.list.columns), [2]int{}
}

func (csvEncoder) row(dst []byte, _ []string, cells []any, _ bool) []byte {
	return table.AppendLine(dst, cells)
}

func (csvEncoder) end(dst []byte, _ *answer) []byte { return dst }
