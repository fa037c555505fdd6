package models

import (
	"unicode/utf8"
)

// The fast JSON path. Almost all events are simple JSON: one object of strings without escapes, integers and booleans. This file
// parses them in one pass, many times as fast as encoding/json. Anything else, valid or not, is left to encoding/json: a parser
// here returns the event or ok = false, never an error.

// literal is a simple value.
type literal struct {
	text   []byte // of a string, without its quotes
	number int64
	kind   byte // 't' string, 'n' number, or 'b' boolean, whose number is 1 for true
}

// fastObject passes the fields of an object to take, in order. It returns true if all of data is a simple object and take took
// all fields.
func fastObject(data []byte, take func(name []byte, value literal) bool) bool {
	i := skip(data, 0)
	if i == len(data) || data[i] != '{' {
		return false
	}
	ascii := true
	for i = skip(data, i+1); ; i = skip(data, i+1) {
		name, end, ok := quotedAt(data, i, &ascii)
		if !ok {
			return false
		}
		if i = skip(data, end); i == len(data) || data[i] != ':' {
			return false
		}
		var value literal
		if value, i, ok = literalAt(data, skip(data, i+1), &ascii); !ok || !take(name, value) {
			return false
		}
		if i = skip(data, i); i == len(data) {
			return false
		}
		if data[i] == '}' {
			return skip(data, i+1) == len(data) && (ascii || utf8.Valid(data))
		}
		if data[i] != ',' {
			return false
		}
	}
}

// skip skips white space.
func skip(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n') {
		i++
	}
	return i
}

// quotedAt parses a string without escapes and returns where it ends. It sets ascii to false if the string is not ASCII.
func quotedAt(data []byte, i int, ascii *bool) (text []byte, end int, ok bool) {
	if i == len(data) || data[i] != '"' {
		return nil, 0, false
	}
	for end = i + 1; end < len(data); end++ {
		switch c := data[end]; {
		case c == '"':
			return data[i+1 : end], end + 1, true
		case c == '\\' || c < ' ':
			return nil, 0, false
		case c >= utf8.RuneSelf:
			*ascii = false
		}
	}
	return nil, 0, false
}

func literalAt(data []byte, i int, ascii *bool) (value literal, end int, ok bool) {
	if i == len(data) {
		return value, i, false
	}
	switch c := data[i]; {
	case c == '"':
		value.kind = 't'
		value.text, end, ok = quotedAt(data, i, ascii)
		return value, end, ok
	case c == '-' || '0' <= c && c <= '9':
		value.kind = 'n'
		value.number, end, ok = integerAt(data, i)
		return value, end, ok
	case len(data) >= i+4 && string(data[i:i+4]) == "true":
		return literal{kind: 'b', number: 1}, i + 4, true
	case len(data) >= i+5 && string(data[i:i+5]) == "false":
		return literal{kind: 'b'}, i + 5, true
	}
	return value, i, false
}

// integerAt parses an integer of up to 18 digits, which fits 64 bits. The caller checks what follows: a fraction has no comma
// there.
func integerAt(data []byte, i int) (n int64, end int, ok bool) {
	const digits = 18
	negative := data[i] == '-'
	if negative {
		i++
	}
	for end = i; end < len(data) && '0' <= data[end] && data[end] <= '9'; end++ {
		if end-i == digits {
			return 0, 0, false
		}
		n = 10*n + int64(data[end]-'0')
	}
	if end == i || data[i] == '0' && end > i+1 || negative && n == 0 {
		return 0, 0, false
	}
	if negative {
		n = -n
	}
	return n, end, true
}

// fieldSetter sets fields, each at most once.
type fieldSetter struct{ set uint32 }

// once marks a field as set; it returns false if it was set before.
func (t *fieldSetter) once(field int) bool {
	before := t.set
	t.set |= 1 << field
	return t.set != before
}

func (t *fieldSetter) text(field int, to *string, value literal) bool {
	if value.kind != 't' || !t.once(field) {
		return false
	}
	*to = string(value.text)
	return true
}

func (t *fieldSetter) number(field int, to *int64, value literal) bool {
	if value.kind != 'n' || !t.once(field) {
		return false
	}
	*to = value.number
	return true
}
