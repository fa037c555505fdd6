package table

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendObject writes a row as a JSON object, with the columns in their order.
func AppendObject(dst []byte, columns []string, cells []any) []byte {
	for i, c := range cells {
		before := byte(',')
		if i == 0 {
			before = '{'
		}
		dst = append(AppendJSON(append(dst, before), columns[i]), ':')
		dst = AppendJSON(dst, c)
	}
	return append(dst, '}')
}

// AppendJSON writes a value: text, a number, or what else encoding/json can. It has the common cases first: an answer may have millions
// of them. encoding/json escapes <, > and & in text, so that no browser finds HTML in it.
func AppendJSON(dst []byte, value any) []byte {
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

func appendText(dst []byte, text string) []byte {
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err) // text always encodes
	}
	return AppendVisible(dst, encoded)
}

// AppendVisible writes JSON with characters escaped that hide or reorder others, as \u202e does: they are the same in JSON, and do no harm
// on a terminal.
func AppendVisible(dst, encoded []byte) []byte {
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
