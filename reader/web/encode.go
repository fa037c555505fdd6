package web

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

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
		dst = append(appendJSON(dst, f.name), ':')
		dst = append(appendJSON(dst, f.value), ',')
	}
	dst = append(dst, `"as_of":`...)
	volatile := [2]int{len(dst), 0}
	dst = append(dst, asOfJSON(a.asOf)...)
	volatile[1] = len(dst)
	if a.list != nil {
		dst = append(appendJSON(append(dst, ','), a.list.name), ":["...)
	}
	return dst, volatile
}

func (jsonEncoder) row(dst []byte, columns []string, cells []any, first bool) []byte {
	if !first {
		dst = append(dst, ',')
	}
	return appendObject(append(dst, '\n'), columns, cells)
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
	return append(appendObject(dst, columns, cells), '\n')
}

func (ndjsonEncoder) end(dst []byte, _ *answer) []byte { return dst }

func appendObject(dst []byte, columns []string, cells []any) []byte {
	for i, c := range cells {
		before := byte(',')
		if i == 0 {
			before = '{'
		}
		dst = append(appendJSON(append(dst, before), columns[i]), ':')
		dst = appendJSON(dst, c)
	}
	return append(dst, '}')
}

// appendJSON has the common cases first: an answer may have millions of them. encoding/json escapes <, > and & in text, so that no
// browser finds HTML in it.
func appendJSON(dst []byte, value any) []byte {
	switch v := value.(type) {
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case string:
		if plain(v) {
			return append(append(append(dst, '"'), v...), '"')
		}
		return appendText(dst, v)
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // numbers, text and lists of them
	}
	return append(dst, text...)
}

// appendText also escapes characters that hide or reorder others, as \u202e does: they are the same in JSON, and do no harm on a terminal.
func appendText(dst []byte, text string) []byte {
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err) // text always encodes
	}
	for _, r := range string(encoded) {
		if !unicode.Is(unicode.Cf, r) {
			dst = utf8.AppendRune(dst, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			dst = fmt.Appendf(dst, `\u%04x`, unit)
		}
	}
	return dst
}

// plain tells whether text is its own JSON.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}
