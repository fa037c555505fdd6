package models

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible makes text safe for a terminal: it escapes control characters, line ends, characters that reverse the direction, and invalid UTF-8
// as Go does (\x1b, \n, \u202e). Anybody can send such names, referrers and pages.
func Visible(text string) string {
	if plainToSee(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if part := text[i : i+size]; unicode.IsGraphic(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(part)
		} else {
			quoted := strconv.Quote(part)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += size
	}
	return b.String()
}

func plainToSee(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) < 0
}
