package models

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"unicode/utf8"
)

func seed(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, text := range []string{`{}`, `null`, `{"id":"\ud800"}`, `{"id":"\ud83d\ude00"}`, `{"ts":-9223372036854775808}`, `{"V":1,"GUID":"x"}`, `{"id":"\`} {
		f.Add([]byte(text))
	}
}

// check: errors are always *Invalid. A valid event is the same after it is written and read, and can be counted.
func check(t *testing.T, e Event, err error, read func([]byte) (Event, error)) {
	t.Helper()
	if err == nil {
		err = e.Validate()
	}
	if err != nil {
		if r := reason(err); r == "" || len(r) > 40 || !utf8.ValidString(err.Error()) {
			t.Fatalf("error %#v", err)
		}
		return
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	again, err := read(data)
	if err != nil || !reflect.DeepEqual(again, e) {
		t.Fatalf("%+v became %s became %+v, %v", e, data, again, err)
	}
	if e.KafkaKey() == "" || e.EventID() == "" {
		t.Fatalf("no key or no id: %+v", e)
	}
	cells := map[Key]map[Cell]bool{}
	e.Count(make([]bool, len(e.Sightings())), func(k Key, c Cell, n int64) {
		if n != 1 && c.Counter != SumValues || cells[k][c] {
			t.Fatalf("cell %+v of %+v counted %+d, or twice", c, k, n)
		}
		if cells[k] == nil {
			cells[k] = map[Cell]bool{}
		}
		cells[k][c] = true
	})
	if len(cells) == 0 {
		t.Fatalf("%+v adds to no cell", e)
	}
}

func FuzzUnmarshalClick(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(b []byte) (Event, error) { return UnmarshalClick(b, true) }
		c, err := UnmarshalClick(data, false)
		check(t, c, err, read)
	})
}

func FuzzUnmarshalVisit(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range []*Plan{DefaultPlan(), fourFeatures} {
			read := func(b []byte) (Event, error) { return p.UnmarshalVisit(b, true) }
			v, err := p.UnmarshalVisit(data, false)
			check(t, v, err, read)
		}
	})
}

// Of any JSON object, Fields finds what encoding/json finds, or says what is wrong with a name.
func FuzzFields(f *testing.F) {
	seed(f)
	for _, text := range []string{`{"guid":"a","guid":"b"}`, ` { "a" : [1,{"b":"}"}] , "c":"\"," } `, `{"GUID":1}`, `{"\u0067uid":1}`, `{"siteid":1}`, `[1]`, `{"a":1e5,"b":true}`, `{"":{}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) || !utf8.Valid(data) {
			return // Fields is for JSON that was decoded before
		}
		fields, err := Fields(data)
		var want map[string]json.RawMessage
		if json.Unmarshal(data, &want) != nil {
			return // no object
		}
		if err != nil {
			if r := reason(err); r != ReasonRepeatedField && r != ReasonUnknownField {
				t.Fatalf("%s: %v", data, err)
			}
			if r := reason(err); r == ReasonRepeatedField && namesIn(t, data) == len(want) {
				t.Fatalf("%s: %v, but no name is repeated", data, err)
			}
			return
		}
		if len(fields) != len(want) || namesIn(t, data) != len(want) {
			t.Fatalf("%s has %d fields, found %d", data, len(want), len(fields))
		}
		for name, value := range want {
			if string(fields[name]) != string(value) {
				t.Fatalf("%s: %q is %s, found %s", data, name, value, fields[name])
			}
		}
	})
}

// namesIn counts the names of an object, including repeated ones.
func namesIn(t *testing.T, object []byte) int {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(object))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return 0 // null
	}
	n := 0
	for ; d.More(); n++ {
		var value json.RawMessage
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return n
}
