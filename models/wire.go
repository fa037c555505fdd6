package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Version is the version of the wire format that this code writes. It reads all versions up to it.
//
//	1: the first. schema/click.v1.json and schema/visit.v1.json describe it, testdata/*.v1.json keep it readable. Since then
//	   visits have the features of their plan, and clicks may have an amount, which older consumers do not count.
const Version = 1

// UnmarshalClick reads a click from JSON. It checks syntax and types only. Absent fields have the zero value, and an absent timestamp is
// Absent: the producer fills it in before Validate. With strict an unknown field is an error (a sender's typing mistake). Topics are read
// without strict, so that later versions may add optional fields. Errors are *Invalid.
func UnmarshalClick(data []byte, strict bool) (*Click, error) {
	if c, _, ok := fastClick(data); ok {
		return c, nil
	}
	return decodeClick(data, strict)
}

// decodeClick is UnmarshalClick by encoding/json: slower than fastClick, but for all of JSON.
func decodeClick(data []byte, strict bool) (*Click, error) {
	c := &Click{TS: Absent}
	if err := unmarshal(data, c, strict); err != nil {
		return nil, err
	}
	return c, nil
}

// UnmarshalVisit does for visits what UnmarshalClick does for clicks, except for unknown fields: every other field of a visit is a feature. A
// feature that is not in the plan is an error without strict too. Else the visit would be counted as if it did not have it.
func (p *Plan) UnmarshalVisit(data []byte, strict bool) (*Visit, error) {
	if v, ok := p.fastVisit(data); ok {
		return v, nil
	}
	return p.decodeVisit(data, strict)
}

// decodeVisit is UnmarshalVisit by encoding/json.
func (p *Plan) decodeVisit(data []byte, strict bool) (*Visit, error) {
	message := reflect.New(p.wire)
	w := message.Elem()
	w.Field(visitTS).SetInt(int64(Absent))
	if err := unmarshal(data, message.Interface(), true); err != nil {
		var invalid *Invalid
		if !strict && errors.As(err, &invalid) && invalid.Reason == ReasonUnknownField {
			return nil, &Invalid{ReasonUnknownFeature, invalid.Detail + " is none of " + strings.Join(p.features, ", ")}
		}
		return nil, err
	}
	v := &Visit{
		V: int(w.Field(visitV).Int()), ID: w.Field(visitID).String(), SiteID: w.Field(visitSiteID).String(),
		GUID: w.Field(visitGUID).String(), TS: Millis(w.Field(visitTS).Int()),
		Features: make([]string, len(p.features)), Plan: p,
	}
	for i := range v.Features {
		v.Features[i] = w.Field(visitFields + i).String()
	}
	return v, nil
}

// TakeClick reads a click from a sender: like UnmarshalClick with strict, but names are case-sensitive and must not be repeated. saysBot tells
// whether the click has the field bot: false is not the same as absent.
func TakeClick(data []byte) (c *Click, saysBot bool, err error) {
	if c, saysBot, ok := fastClick(data); ok {
		return c, saysBot, nil
	}
	if c, err = decodeClick(data, true); err != nil {
		return nil, false, err
	}
	fields, err := Fields(data)
	if err != nil {
		return nil, false, err
	}
	bot, said := fields["bot"]
	return c, said && string(bot) != "null", nil
}

// TakeVisit does for visits what TakeClick does for clicks.
func (p *Plan) TakeVisit(data []byte) (*Visit, error) {
	if v, ok := p.fastVisit(data); ok {
		return v, nil
	}
	v, err := p.decodeVisit(data, true)
	if err != nil {
		return nil, err
	}
	if _, err := Fields(data); err != nil {
		return nil, err
	}
	return v, nil
}

// DecodeClick reads a click from a topic.
func (p *Plan) DecodeClick(data []byte) (Event, error) {
	c, err := UnmarshalClick(data, false)
	if err != nil {
		return nil, err
	}
	c.Plan = p
	return c, nil
}

// DecodeVisit reads a visit from a topic.
func (p *Plan) DecodeVisit(data []byte) (Event, error) { return p.UnmarshalVisit(data, false) }

// MarshalJSON writes the wire format of a visit.
func (v *Visit) MarshalJSON() ([]byte, error) {
	p := v.plan()
	if len(v.Features) != len(p.features) {
		return nil, fmt.Errorf("writing a visit with %d features: its plan has %d", len(v.Features), len(p.features))
	}
	w := reflect.New(p.wire).Elem()
	w.Field(visitV).SetInt(int64(v.V))
	w.Field(visitID).SetString(v.ID)
	w.Field(visitSiteID).SetString(v.SiteID)
	w.Field(visitGUID).SetString(v.GUID)
	w.Field(visitTS).SetInt(int64(v.TS))
	for i, f := range v.Features {
		w.Field(visitFields + i).SetString(f)
	}
	return json.Marshal(w.Interface())
}

// visitJSON has the first fields of a visit on the wire. Its features follow, under their names.
type visitJSON struct {
	V      int    `json:"v"`
	ID     string `json:"id"`
	SiteID string `json:"siteId"`
	GUID   string `json:"guid"`
	TS     Millis `json:"ts"`
}

// The indexes of its fields.
const (
	visitV = iota
	visitID
	visitSiteID
	visitGUID
	visitTS
	visitFields // their number, and the index of the first feature
)

// wireOf makes the struct type of a visit's message, so that encoding/json reads and writes features like other fields.
func wireOf(features []string) reflect.Type {
	fields := reflect.VisibleFields(reflect.TypeFor[visitJSON]())
	for i, name := range features {
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprint("Feature", i+1), Type: reflect.TypeFor[string](),
			Tag: reflect.StructTag(fmt.Sprintf(`json:"%s,omitempty"`, name)),
		})
	}
	return reflect.StructOf(fields)
}

func unmarshal(data []byte, into any, strict bool) error {
	// encoding/json would replace both by U+FFFD, and a name that nobody sent would be counted.
	if !utf8.Valid(data) {
		return &Invalid{Reason: ReasonBadUTF8}
	}
	if loneSurrogate(data) {
		return &Invalid{ReasonBadUTF8, `half a surrogate pair: \uD800 to \uDFFF come in pairs`}
	}
	if !strict && json.Unmarshal(data, into) == nil { // half the work of a decoder, whose errors are better
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if strict {
		d.DisallowUnknownFields()
	}
	err := d.Decode(into)
	if err == nil {
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return &Invalid{ReasonBadJSON, "more than one value"}
		}
		return nil
	}
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) && mistyped.Field != "" {
		return badField(mistyped)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return &Invalid{ReasonUnknownField, Excerpt(strings.Trim(name, `"`))}
	}
	if errors.As(err, &mistyped) {
		return &Invalid{ReasonBadJSON, "want one JSON object"}
	}
	return &Invalid{ReasonBadJSON, Excerpt(err.Error())}
}

// loneSurrogate tells whether JSON text has an escape of half a surrogate pair. In JSON, backslashes occur in strings only; the decoder
// rejects what is no JSON.
func loneSurrogate(data []byte) bool {
	for {
		i := bytes.IndexByte(data, '\\')
		if i < 0 {
			return false
		}
		data = data[i:]
		r := escaped(data)
		switch {
		case !utf16.IsSurrogate(r):
			data = data[min(2, len(data)):]
		case utf16.DecodeRune(r, escaped(data[6:])) == utf8.RuneError:
			return true
		default:
			data = data[12:]
		}
	}
}

// escaped is the code unit of the \uXXXX that data begins with, or 0.
func escaped(data []byte) rune {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}

func badField(e *json.UnmarshalTypeError) error {
	switch e.Field {
	case "ts":
		return &Invalid{ReasonBadTimestamp, "ts is a whole number of Unix milliseconds"}
	case "v":
		return &Invalid{ReasonUnknownVersion, "v is a small number"}
	case "amount":
		return &Invalid{ReasonBadAmount, amountDetail}
	case "siteId":
		return &Invalid{"bad_site_id", "got a " + Excerpt(e.Value)}
	}
	field := e.Field[strings.LastIndexByte(e.Field, '.')+1:] // of a struct inside the event, after its name
	return &Invalid{"bad_" + field, "got a " + Excerpt(e.Value)}
}

func version(v int) error {
	switch {
	case v == 0:
		return &Invalid{Reason: ReasonMissingVersion}
	case v < 0 || v > Version:
		return &Invalid{ReasonUnknownVersion, "upgrade the consumers before the producers"}
	}
	return nil
}
