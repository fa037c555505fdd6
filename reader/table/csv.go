package table

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// AppendHeader writes the first line of CSV: the columns.
func AppendHeader(dst []byte, columns []string) []byte {
	return append(append(dst, strings.Join(columns, ",")...), '\n')
}

// AppendLine writes a row as RFC 4180 has it, but for line ends: \n alone, since \r\n inside of a name must stay what it is. Numbers are
// written as they are. Text is, too, unless a spreadsheet would take it for a formula: see guarded. A nil is nothing, an empty text "".
func AppendLine(dst []byte, cells []any) []byte {
	for i, c := range cells {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch v := c.(type) {
		case int64:
			dst = strconv.AppendInt(dst, v, 10)
		case bool:
			dst = strconv.AppendBool(dst, v)
		case string:
			dst = appendQuoted(dst, guarded(v))
		}
	}
	return append(dst, '\n')
}

// appendQuoted puts text in quotation marks unless it is plain: a spreadsheet may be set to split at semicolons, tabs or spaces, and what
// follows one of them could be a formula.
func appendQuoted(dst []byte, text string) []byte {
	special := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:/", r)
	}
	if text != "" && !strings.ContainsFunc(text, special) {
		return append(dst, text...)
	}
	return append(append(append(dst, '"'), strings.ReplaceAll(text, `"`, `""`)...), '"')
}

// guarded is text with a ' before it if it begins as a formula does. Anyone can send a referrer such as =HYPERLINK("…"), and whoever opens
// the file in a spreadsheet would run it. Text that begins with a ' gets another one, so that nothing is lost: a program that takes one '
// away from the beginning of every text cell has the names as they are. JSON and NDJSON have them as they are in any case.
func guarded(text string) string {
	if text == "" {
		return text
	}
	seen := strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Cc) })
	first, _ := utf8.DecodeRuneInString(seen)
	if text[0] == '\'' || strings.ContainsRune("\t\r\n", rune(text[0])) || (seen != "" && strings.ContainsRune("=+-@＝＋－＠|%", first)) {
		return "'" + text
	}
	return text
}
