package models

import (
	"bytes"
	"encoding/json"
	"strings"
)

// ReasonRepeatedField is given for a field that is there twice.
const ReasonRepeatedField = "repeated_field"

// Fields reads the fields of a JSON object that was decoded already, by name. The decoder takes GUID for guid, and the last
// of two guids for the one; a sender who writes either has made a mistake, and the door says so, as for forms. Those
// errors are *Invalid.
func Fields(object []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	fields := map[string]json.RawMessage{}
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return fields, err // null, which decodes to nothing
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := token.(string) // the decoder lets nothing else be a name
		if !spelt(name) {
			return nil, &Invalid{Reason: ReasonUnknownField, Detail: name + ": names are written as in the description, capitals and all"}
		}
		if _, again := fields[name]; again {
			return nil, &Invalid{Reason: ReasonRepeatedField, Detail: name}
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		fields[name] = value
	}
	return fields, nil
}

// spelt tells whether a name that the decoder knew is spelt as it should be: siteId is the only one with a capital, and
// none has letters that merely fold to ASCII.
func spelt(name string) bool {
	if strings.EqualFold(name, "siteId") {
		return name == "siteId"
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r > '~' || 'A' <= r && r <= 'Z' })
}
