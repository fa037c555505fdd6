package models

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// AppendEvent appends the wire format of an event to dst: the bytes that json.Marshal makes, in one pass and without
// reflection.
func AppendEvent(dst []byte, event Event) ([]byte, error) {
	switch e := event.(type) {
	case *Click:
		return e.appendJSON(dst), nil
	case *Visit:
		if p := e.plan(); len(e.Features) == len(p.features) {
			return e.appendJSON(dst, p.features), nil
		}
	}
	text, err := json.Marshal(event) // for its error
	return append(dst, text...), err
}

// unusual are the bytes that JSON may have to escape.
var unusual = func() (t [256]bool) {
	for c := range t {
		t[c] = c < ' ' || c >= utf8.RuneSelf
	}
	for _, c := range `"\\<>&` {
		t[c] = true
	}
	return t
}()

// AppendText appends a JSON string, as json.Marshal writes it. Texts that need escapes are few, and left to json.Marshal.
func AppendText(dst []byte, text string) []byte {
	for i := range len(text) {
		if unusual[text[i]] {
			if !plainText(text[i:]) {
				return appendEscaped(dst, text)
			}
			break
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}

// plainText tells whether a text that is not all ASCII needs no escapes. encoding/json escapes U+2028 and U+2029, which old JavaScript did not
// accept, and replaces invalid UTF-8 by U+FFFD.
func plainText(text string) bool {
	for i := range len(text) {
		if text[i] < utf8.RuneSelf && unusual[text[i]] {
			return false
		}
	}
	return utf8.ValidString(text) && !strings.Contains(text, "\u2028") && !strings.Contains(text, "\u2029")
}

func appendEscaped(dst []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text always encodes
	}
	return append(dst, quoted...)
}
