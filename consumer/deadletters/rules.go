package deadletters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"footfall/models"
)

// Rule changes one field of letters. Make one with ParseRule.
type Rule struct {
	text   string // as it was typed
	kind   string
	field  string
	from   string // the value or name to replace
	to     string // the new name or value
	factor *big.Rat
}

// The kinds of rules, by the name of their flag.
const (
	Rename = "rename" // a field gets another name
	Scale  = "scale"  // a number is multiplied
	Site   = "site"   // visits of one site go to another
	Link   = "link"   // clicks of one link go to another
	Set    = "set"    // a field gets a value
	Drop   = "drop"   // a field is removed
)

// ParseRule reads a rule of a command line: --kind text.
func ParseRule(kind, text string) (Rule, error) {
	left, right, found := strings.Cut(text, "=")
	r := Rule{text: "--" + kind + " " + text, kind: kind, field: left, to: right}
	switch {
	case kind == Drop && text != "" && !found:
		return r, nil
	case kind == Drop || left == "" || right == "" && kind != Set || !found:
		return r, fmt.Errorf("%q: want %s", text, map[string]string{
			Rename: "OLD=NEW, two names of fields", Scale: "FIELD=FACTOR, such as ts=1000", Site: "OLD=NEW, two sites", Link: "OLD=NEW, two links",
			Set: "FIELD=VALUE", Drop: "the name of a field",
		}[kind])
	}
	switch kind {
	case Scale:
		factor, ok := new(big.Rat).SetString(right)
		if !ok || factor.Sign() <= 0 || len(right) > 20 || strings.ContainsAny(right, "eEpP") {
			return r, fmt.Errorf("%q: want FIELD=FACTOR with a factor above 0, such as ts=1000 or ts=0.001", text)
		}
		r.factor = factor
	case Site:
		r.field, r.from = "siteId", left
	case Link:
		r.field, r.from = "short_url", left
	}
	return r, nil
}

func (r Rule) String() string { return r.text }

// fields are the fields of a JSON object.
type fields map[string]json.RawMessage

// parseFields splits a letter's value. Other than models.Fields it takes any names: a rule may change them.
func parseFields(value []byte) (fields, error) {
	if trimmed := bytes.TrimSpace(value); len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(value) {
		return nil, &models.Invalid{Reason: models.ReasonBadJSON, Detail: "want one JSON object"}
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	if _, err := decoder.Token(); err != nil {
		return nil, &models.Invalid{Reason: models.ReasonBadJSON}
	}
	out := fields{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, &models.Invalid{Reason: models.ReasonBadJSON}
		}
		field := name.(string) // names of a valid object are strings
		if _, again := out[field]; again {
			return nil, &models.Invalid{Reason: models.ReasonRepeatedField, Detail: models.Excerpt(field)}
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, &models.Invalid{Reason: models.ReasonBadJSON}
		}
		out[field] = raw
	}
	return out, nil
}

// apply changes the fields by the rule. It tells whether it changed anything.
func (r Rule) apply(f fields) (bool, error) {
	old, has := f[r.field]
	if !has && r.kind != Set {
		return false, nil
	}
	switch r.kind {
	case Rename:
		if _, taken := f[r.to]; taken {
			return false, &models.Invalid{Reason: models.ReasonRepeatedField, Detail: models.Excerpt(r.to) + ": the letter has the new name, too"}
		}
		delete(f, r.field)
		f[r.to] = old
	case Scale:
		return r.scale(f, old)
	case Site, Link:
		if !isText(old, r.from) {
			return false, nil
		}
		f[r.field] = models.AppendText(nil, r.to)
	case Set:
		value := r.value()
		if bytes.Equal(old, value) {
			return false, nil
		}
		f[r.field] = value
	case Drop:
		delete(f, r.field)
	}
	return true, nil
}

// isText tells whether a JSON value is this text.
func isText(value json.RawMessage, text string) bool {
	var found string
	return json.Unmarshal(value, &found) == nil && found == text
}

// value is what Set puts into the field: a number or true and false where the field has one, else a text.
func (r Rule) value() json.RawMessage {
	switch r.field {
	case "v", "ts", "amount", "bot":
		if json.Valid([]byte(r.to)) {
			return json.RawMessage(r.to)
		}
	}
	return models.AppendText(nil, r.to)
}

// scale multiplies a number. A time that is one already stays as it is: then letters in seconds and letters in milliseconds can be mended at
// once, and twice.
func (r Rule) scale(f fields, old json.RawMessage) (bool, error) {
	text := strings.Trim(string(old), `"`) // some senders quote numbers
	number, ok := new(big.Rat).SetString(text)
	if !ok || len(text) > 40 || strings.ContainsAny(text, "eEpPxX/_") { // a few bytes such as 1e999999999 would become gigabytes
		return false, nil
	}
	if ts, err := strconv.ParseInt(string(old), 10, 64); r.field == "ts" && err == nil && models.Earliest <= models.Millis(ts) && models.Millis(ts) <= models.Latest {
		return false, nil
	}
	number.Mul(number, r.factor)
	scaled := strings.TrimRight(strings.TrimRight(number.FloatString(9), "0"), ".")
	if r.field == "ts" { // fractions of a millisecond are nothing
		scaled = new(big.Int).Quo(number.Num(), number.Denom()).String()
	}
	f[r.field] = json.RawMessage(scaled)
	return scaled != string(old), nil
}

// Rules are applied in their order.
type Rules []Rule

// Apply changes a letter's value. changed has the index of each rule that changed something. Errors are *models.Invalid.
func (rules Rules) Apply(value []byte) (out []byte, changed []int, err error) {
	if len(rules) == 0 {
		return value, nil, nil
	}
	f, err := parseFields(value)
	if err != nil {
		return nil, nil, err
	}
	for i, r := range rules {
		did, err := r.apply(f)
		if err != nil {
			return nil, nil, err
		}
		if did {
			changed = append(changed, i)
		}
	}
	if len(changed) == 0 {
		return value, nil, nil
	}
	return f.encode(), changed, nil
}

// encode writes the fields, sorted by name.
func (f fields) encode() []byte {
	names := make([]string, 0, len(f))
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	out := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(models.AppendText(out, name), ':')
		out = append(out, f[name]...)
	}
	return append(out, '}')
}
