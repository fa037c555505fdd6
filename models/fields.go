package models

import (
	"bytes"
	"encoding/json"
	"strings"
)

// ReasonRepeatedField is the reason if a field is given twice.
const ReasonRepeatedField = "repeated_field"

// Fields splits a JSON object that was decoded already into its fields, by name. encoding/json accepts GUID for guid, and takes the last of two
// guids. Fields returns an *Invalid for both: the sender has made a mistake.
func Fields(object []byte) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	rest := space(object)
	if len(rest) == 0 || rest[0] != '{' {
		return fields, nil // null, which decodes to nothing
	}
	rest = space(rest[1:])
	for len(rest) > 0 && rest[0] != '}' {
		quoted := rest[:value(rest)]
		name, err := unquoted(quoted)
		if err != nil {
			return nil, err
		}
		if !spelt(name) {
			return nil, &Invalid{ReasonUnknownField, Excerpt(name) + ": names of fields are case-sensitive"}
		}
		if _, again := fields[name]; again {
			return nil, &Invalid{ReasonRepeatedField, Excerpt(name)}
		}
		rest = space(rest[len(quoted):])
		rest = space(rest[min(1, len(rest)):]) // the colon
		n := value(rest)
		fields[name] = rest[:n:n]
		rest = space(rest[n:])
		if len(rest) > 0 && rest[0] == ',' {
			rest = space(rest[1:])
		}
	}
	return fields, nil
}

// space skips white space.
func space(text []byte) []byte { return bytes.TrimLeft(text, " \t\r\n") }

// unquoted is the value of a JSON string; most need no decoding.
func unquoted(quoted []byte) (name string, err error) {
	if len(quoted) >= 2 && bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	err = json.Unmarshal(quoted, &name)
	return name, err
}

// value is the length of the JSON value that text begins with. The text is known to be JSON, so counting brackets and skipping strings is
// enough.
func value(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return min(i+1, len(text))
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i // the end of the enclosing object or array
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// spelt tells whether a name that the decoder accepted has the right case: siteId is the only name with a capital, and no name has letters
// that merely fold to ASCII.
func spelt(name string) bool {
	if strings.EqualFold(name, "siteId") {
		return name == "siteId"
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r > '~' || 'A' <= r && r <= 'Z' })
}
