package models

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestFields(t *testing.T) {
	f := func(object, reason string, want int) {
		t.Helper()
		got, err := Fields([]byte(object))
		var invalid *Invalid
		if reason == "" && (err != nil || len(got) != want) || reason != "" && (!errors.As(err, &invalid) || invalid.Reason != reason) {
			t.Errorf("Fields(%s) = %q, %v", object, got, err)
		}
	}
	f(`null`, "", 0)
	f(` {} `, "", 0)
	f(`{"siteId":"a","guid":{"guid":[1,{"A":2}]},"ts":null,"feature12":"x"}`, "", 4) // names inside a value are not checked
	f(`{"guid":1,"ts":2,"guid":3}`, ReasonRepeatedField, 0)
	f(`{"guid":1,"\u0067uid":3}`, ReasonRepeatedField, 0)
	for _, field := range slices.Concat(ClickFields, DefaultPlan().Fields()) {
		f(`{"`+field.Name+`":1}`, "", 1)
		f(`{"`+strings.ToUpper(field.Name)+`":1}`, ReasonUnknownField, 0)
	}
	for _, misspelt := range []string{"GUID", "siteid", "SITEID", "ſiteId", "tſ", "Feature1", "bot\u212a"} {
		f(`{"`+misspelt+`":1}`, ReasonUnknownField, 0)
	}
}

// Fields finds the same values as encoding/json.
func TestFieldsEqualsEncodingJSON(t *testing.T) {
	for _, object := range []string{
		`{"a":1}`, "\t{ \"a\" :\n-1.5e3 , \"b\":true ,\"c\" : null }\r\n", `{"a":"}{][,\"\\","b":"\\\\","c":{"d":["}",{"e":"\\\""}]},"f":[[],[1,2],{}]}`,
		`{"":"","\\":1}`, `{"a":{},"b":[],"c":"","d":0}`,
	} {
		want := map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte(object), &want); err != nil {
			t.Fatal(err)
		}
		got, err := Fields([]byte(object))
		same := func(a, b json.RawMessage) bool { return string(a) == string(b) }
		if err != nil || !maps.EqualFunc(got, want, same) {
			t.Errorf("Fields(%s) = %q, %v; want %q", object, got, err, want)
		}
	}
	for _, broken := range []string{`{`, `{"`, `{"a`, `{"a"`, `{"a":`, `{"a":}`, `{,}`, `{x`, `{"a":1,`, `{"a" "b"}`, `}`, ``} {
		_, _ = Fields([]byte(broken)) // not allowed, but it must return
	}
}
