package models

import (
	"errors"
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
	f(`{"siteId":"a","guid":{"guid":[1,{"A":2}]},"ts":null,"feature12":"x"}`, "", 4) // what is inside a field is its own affair
	f(`{"guid":1,"ts":2,"guid":3}`, ReasonRepeatedField, 0)
	f(`{"guid":1,"\u0067uid":3}`, ReasonRepeatedField, 0)
	for _, misspelt := range []string{"GUID", "siteid", "SITEID", "ſiteId", "tſ", "Feature1", "bot\u212a"} {
		f(`{"`+misspelt+`":1}`, ReasonUnknownField, 0)
	}
}
