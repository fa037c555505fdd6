package models

import (
	"unicode/utf8"
)

// Almost all events are written as plainly as JSON can be: one object of texts without escapes, whole numbers and truth values.
// Those are read here in one pass, many times as fast as encoding/json does it. Whatever is not so plain, right or wrong, is
// left to encoding/json: a reader here says what an event is, or nothing at all.

// literal is a value that is plain.
type literal struct {
	text   []byte // of a text, between its quotes
	number int64
	kind   byte // 't'ext, 'n'umber, or 'b'oolean, whose number is 1 for true
}

// plain hands the fields of an object to take, in their order, and tells whether the whole of data was plain and all fields
// were taken.
func plain(data []byte, take func(name []byte, value literal) bool) bool {
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

// skip leaves out what JSON has between its parts.
func skip(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n') {
		i++
	}
	return i
}

// quotedAt reads a text without escapes and tells where it ends. It notes whether all of it is ASCII.
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
		value.number, end, ok = wholeAt(data, i)
		return value, end, ok
	case len(data) >= i+4 && string(data[i:i+4]) == "true":
		return literal{kind: 'b', number: 1}, i + 4, true
	case len(data) >= i+5 && string(data[i:i+5]) == "false":
		return literal{kind: 'b'}, i + 5, true
	}
	return value, i, false
}

// wholeAt reads a whole number that surely fits 64 bits. What follows it is for the caller to look at: a fraction is no comma.
func wholeAt(data []byte, i int) (n int64, end int, ok bool) {
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

// into puts values into fields, each once.
type into struct{ taken uint32 }

// once marks a field as taken; false if it was.
func (t *into) once(field int) bool {
	before := t.taken
	t.taken |= 1 << field
	return t.taken != before
}

func (t *into) text(field int, to *string, value literal) bool {
	if value.kind != 't' || !t.once(field) {
		return false
	}
	*to = string(value.text)
	return true
}

func (t *into) number(field int, to *int64, value literal) bool {
	if value.kind != 'n' || !t.once(field) {
		return false
	}
	*to = value.number
	return true
}

// plainClick reads a click that is plain, and tells whether it says if it is a bot's.
func plainClick(data []byte) (c *Click, saysBot, ok bool) {
	c = &Click{TS: Absent}
	var t into
	var v, amount int64
	ts := int64(Absent)
	ok = plain(data, func(name []byte, value literal) bool {
		switch string(name) {
		case "v":
			return t.number(0, &v, value) && int64(int(v)) == v
		case "id":
			return t.text(1, &c.ID, value)
		case "short_url":
			return t.text(2, &c.ShortURL, value)
		case "ip":
			return t.text(3, &c.IP, value)
		case "country":
			return t.text(4, &c.Country, value)
		case "ts":
			return t.number(5, &ts, value)
		case "referrer":
			return t.text(6, &c.Referrer, value)
		case "ua":
			return t.text(7, &c.UA, value)
		case "bot":
			c.Bot, saysBot = value.number == 1, true
			return value.kind == 'b' && t.once(8)
		case "amount":
			c.Amount = &amount
			return t.number(9, &amount, value)
		}
		return false
	})
	c.V, c.TS = int(v), Millis(ts)
	return c, saysBot, ok
}

// plainVisit reads a visit that is plain.
func (p *Plan) plainVisit(data []byte) (visit *Visit, ok bool) {
	visit = &Visit{Features: make([]string, len(p.features)), Plan: p}
	var t into
	var v int64
	ts := int64(Absent)
	ok = plain(data, func(name []byte, value literal) bool {
		switch string(name) {
		case "v":
			return t.number(visitV, &v, value) && int64(int(v)) == v
		case "id":
			return t.text(visitID, &visit.ID, value)
		case "siteId":
			return t.text(visitSiteID, &visit.SiteID, value)
		case "guid":
			return t.text(visitGUID, &visit.GUID, value)
		case "ts":
			return t.number(visitTS, &ts, value)
		}
		for i, feature := range p.features {
			if feature == string(name) {
				return t.text(visitFields+i, &visit.Features[i], value)
			}
		}
		return false
	})
	visit.V, visit.TS = int(v), Millis(ts)
	return visit, ok
}
