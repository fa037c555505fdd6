package models

import "testing"

// Text from a sender cannot move the cursor, colour a line or reverse its direction on a terminal.
func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"/index.html":               "/index.html",
		"müßig 路径 👣 a\u00a0b":       "müßig 路径 👣 a\u00a0b",
		"\x1b[2J\x1b]0;owned\x07":   `\x1b[2J\x1b]0;owned\a`,
		"a\r\nb\tc\x00d\x7f":        `a\r\nb\tc\x00d\x7f`,
		"\u009b31m\u202etxt.exe":    `\u009b31m\u202etxt.exe`,
		"half \xe8\xb7 a \xff":      `half \xe8\xb7 a \xff`,
		"line\u2028two\u200d\ufeff": `line\u2028two\u200d\ufeff`,
		`a\x1b`:                     `a\x1b`, // a backslash is not escaped: Windows paths would be hard to read
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
}
