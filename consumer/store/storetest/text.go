package storetest

import (
	"strings"
	"unicode/utf8"

	"footfall/models"
)

// texts are values that a store must neither change nor confuse with each other. All are valid in an event.
var texts = []string{
	"plain", "Plain", "PLAIN", // case matters
	"plain ", " plain", // so does space
	"0123", "123", "123.0", "1e2", "100", "-1", "true", "null", "NULL", // text that looks like something else
	`it's`, `"quoted"`, `''`, `a;DROP TABLE applied;--`, `back\slash`, `%`, `_`, `$1`, `?`, `:name`,
	"a|b", "|", "||", "a|", "|b", // the separator of Kafka keys
	"tab\there", "new\nline", "bell\x07", "\x7f",
	"città", "citta\u0300", // one of them composed, the other not
	"Straße", "STRASSE", "日本語", "🦶👣", "עברית", "\u2028", "\u200b", "\ufffd", "\U0010ffff",
	`["json"]`, `{"a":1}`, `\u0041`, "A",
	strings.Repeat("x", models.MaxSiteID), strings.Repeat("é", models.MaxSiteID/2),
}

// short cuts a name to what an event may carry, at a rune.
func short(s string) string {
	for len(s) > models.MaxShortURL {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}
