package models

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// golden is what files of testdata must decode to, for ever: Kafka still has old bytes when new code reads it. Any other file is
// written again as it was.
var golden = map[string]Event{
	"click.v1.json": &Click{
		V: 1, ID: "018f3a5e-7b1c-7000-8000-000000000001", ShortURL: "abc", IP: "203.0.113.7", Country: "IT",
		TS: 1436968800000, Referrer: "news.example", UA: "Mozilla/5.0", Bot: true,
	},
	"click.v1.amount.json": &Click{
		V: 1, ID: "018f3a5e-7b1c-7000-8000-000000000003", ShortURL: "abc", IP: "203.0.113.7", TS: 1436968800000, Amount: worth(-1999),
	},
	"click.v1.agent.json": &Click{
		V: 1, ID: "018f3a5e-7b1c-7000-8000-000000000004", ShortURL: "abc", IP: "203.0.113.7", TS: 1436968800000,
		Agent: Agent{Browser: "Samsung Internet", System: "Android", Device: "phone"},
	},
	"visit.v1.json": &Visit{
		V: 1, ID: "018f3a5e-7b1c-7000-8000-000000000002", SiteID: "site1", GUID: "962e0c3a-6c08-4160-9196-f0050faffe62",
		TS: 1522802128000, Features: []string{"facebook.com", "/index.html"}, Plan: DefaultPlan(),
	},
}

func worth(n int64) *int64 { return &n }

// decode reads a message as a click or a visit, by the beginning of the file's name.
func decode(name string, data []byte, strict bool) (Event, error) {
	if strings.HasPrefix(name, "click.") {
		return UnmarshalClick(data, strict)
	}
	return DefaultPlan().UnmarshalVisit(data, strict)
}

func TestGoldenFilesStayReadable(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(name, data, false)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if want, known := golden[name]; known && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", file, got, want)
		}
		if strings.Contains(name, fmt.Sprintf(".v%d.", Version)) {
			again, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if string(again) != strings.TrimSpace(string(data)) {
				t.Errorf("%s: written again it is %s", file, again)
			}
		}
	}
	for v := 1; v <= Version; v++ {
		if golden[fmt.Sprintf("click.v%d.json", v)] == nil || golden[fmt.Sprintf("visit.v%d.json", v)] == nil {
			t.Errorf("version %d: every version has a golden click and a golden visit", v)
		}
	}
	for name := range golden {
		if !slices.Contains(files, filepath.Join("testdata", name)) {
			t.Errorf("%s is gone: Kafka may still have such bytes", name)
		}
	}
}

func TestAbsentFieldsStayAbsent(t *testing.T) {
	c, err := UnmarshalClick([]byte(`{}`), true)
	if err != nil || !reflect.DeepEqual(c, &Click{TS: Absent}) {
		t.Errorf("%+v, %v", c, err)
	}
	v, err := DefaultPlan().UnmarshalVisit([]byte(`{}`), true)
	if err != nil || !reflect.DeepEqual(v, &Visit{TS: Absent, Features: []string{"", ""}, Plan: DefaultPlan()}) {
		t.Errorf("%+v, %v", v, err)
	}
	for want, e := range map[string]Event{
		`{"v":1,"id":"id","short_url":"abc","ip":"203.0.113.7","ts":100000000000}`: &Click{V: 1, ID: "id", ShortURL: "abc", IP: "203.0.113.7", TS: Earliest},
		`{"v":1,"id":"id","siteId":"s","guid":"g","ts":100000000000}`:              &Visit{V: 1, ID: "id", SiteID: "s", GUID: "g", TS: Earliest, Features: []string{"", ""}},
	} {
		if got, err := json.Marshal(e); err != nil || string(got) != want {
			t.Errorf("wrote %s, %v; want %s", got, err, want)
		}
	}
}

func TestMalformed(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		for _, name := range []string{"click.", "visit."} {
			for _, strict := range []bool{true, false} {
				if _, err := decode(name, []byte(text), strict); reason(err) != want {
					t.Errorf("%s %q, strict %v: %v, want %s", name, text, strict, err, want)
				}
			}
		}
	}
	for _, text := range []string{"", " ", "{", `{"id":"x"`, `{"id":"x"}}`, `{"id":"x"}{}`, "[]", "1", `"x"`, "true", `{id:1}`, `{"id":"\x"}`, `{"id":"\u12"}`, `{"id":"\`, `{"id":"\u`} {
		f(text, ReasonBadJSON)
	}
	f("{\"id\":\"\xff\"}", ReasonBadUTF8)
	f("{\"id\":\"\xed\xa0\x80\"}", ReasonBadUTF8)
	for _, half := range []string{`\ud800`, `\uDFFF`, `\ud800x`, `\ud800\n`, `\ud83d\u0041`, `\ud83d\ud83d`, `\ude00\ud83d`, `\\\ud800`} {
		f(`{"id":"`+half+`"}`, ReasonBadUTF8)
	}
	f(`{"id":1}`, "bad_id")
	f(`{"id":{"a":1}}`, "bad_id")
	f(`{"v":"1"}`, ReasonUnknownVersion)
	f(`{"v":1.5}`, ReasonUnknownVersion)
	f(`{"ts":"1522802128000"}`, ReasonBadTimestamp)
	f(`{"ts":1.5}`, ReasonBadTimestamp)
	f(`{"ts":9223372036854775808}`, ReasonBadTimestamp)
	f(` {"id":"x"} `+"\n", "")
	f(`{"id":null,"v":null,"ts":null}`, "")
	f(`{"id":"\ud83d\ude00 \\ud800 \u0041 \/"}`, "")
}

func TestUnknownFields(t *testing.T) {
	for _, name := range []string{"click.", "visit."} {
		_, err := decode(name, []byte(`{"colour":"red","id":"x"}`), true)
		if reason(err) != ReasonUnknownField || !strings.Contains(err.Error(), "colour") {
			t.Errorf("%s strict: %v", name, err)
		}
	}
	e, err := decode("click.", []byte(`{"colour":"red","id":"x"}`), false)
	if err != nil || e.EventID() != "x" {
		t.Errorf("%+v, %v; a topic may have fields of later versions", e, err)
	}
	// Every other field of a visit is a feature, and must not be dropped silently.
	_, err = decode("visit.", []byte(`{"colour":"red","id":"x"}`), false)
	if reason(err) != ReasonUnknownFeature || !strings.Contains(err.Error(), "colour is none of feature1, feature2") {
		t.Errorf("a visit with a feature that is not in the plan: %v", err)
	}
	for text, want := range map[string]string{`{"siteId":1}`: "bad_site_id", `{"feature2":[]}`: "bad_feature2", `{"guid":false}`: "bad_guid"} {
		if _, err := DefaultPlan().UnmarshalVisit([]byte(text), true); reason(err) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for _, bad := range []string{`1.5`, `1e3`, `"1"`, `true`, `9223372036854775808`} {
		if _, err := UnmarshalClick([]byte(`{"amount":`+bad+`}`), false); reason(err) != ReasonBadAmount {
			t.Errorf("amount %s: %v, want %s", bad, err, ReasonBadAmount)
		}
	}
	if c, err := UnmarshalClick([]byte(`{"amount":null}`), true); err != nil || c.Amount != nil {
		t.Errorf("amount null: %+v, %v", c, err)
	}
	for _, f := range append(AgentFields, ClickFields[2:5]...) {
		if _, err := UnmarshalClick([]byte(`{"`+f.Name+`":5}`), true); reason(err) != "bad_"+f.Name {
			t.Errorf("a number for %s: %v", f.Name, err)
		}
	}
	for text, want := range map[string]string{`{"bot":1}`: "bad_bot", `{"short_url":1}`: "bad_short_url", `{"country":1}`: "bad_country"} {
		if _, err := UnmarshalClick([]byte(text), true); reason(err) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
