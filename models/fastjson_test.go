package models

import (
	"encoding/json"
	"reflect"
	"testing"
)

// agree fails if the fast path reads data otherwise than encoding/json, or accepts names that must be refused. It returns which of the two
// kinds of event the fast path read.
func agree(t *testing.T, data []byte) (click, visit bool) {
	t.Helper()
	if c, saysBot, ok := fastClick(data); ok {
		click = true
		slow, err := decodeClick(data, true)
		fields, spelling := Fields(data)
		_, said := fields["bot"]
		if err != nil || spelling != nil || said != saysBot || !reflect.DeepEqual(c, slow) {
			t.Errorf("%q is plainly %+v (bot said: %v), but %+v (%v, %v, %v)", data, c, saysBot, slow, said, err, spelling)
		}
	}
	for _, p := range []*Plan{DefaultPlan(), fourFeatures} {
		if v, ok := p.fastVisit(data); ok {
			visit = true
			slow, err := p.decodeVisit(data, true)
			_, spelling := Fields(data)
			if err != nil || spelling != nil || !reflect.DeepEqual(v, slow) {
				t.Errorf("%q is plainly %+v, but %+v (%v, %v)", data, v, slow, err, spelling)
			}
		}
	}
	return click, visit
}

// The fast path reads what footfall itself and most others write. Else it would gain nothing.
func TestFastPathReadsUsualEvents(t *testing.T) {
	visit, err := json.Marshal(&Visit{V: 1, ID: "1", SiteID: "s", GUID: "g", TS: 1538402700000, Features: []string{"a", "/ü"}, Plan: DefaultPlan()})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := agree(t, visit); !ok {
		t.Errorf("the fast path does not read %s", visit)
	}
	if ok, _ := agree(t, []byte(" {\t\"short_url\" : \"a\" ,\r\n\"bot\":false } ")); !ok {
		t.Error("the fast path does not read an event with white space")
	}
}

// The fast path leaves everything else to encoding/json.
func TestFastPathLeavesTheRest(t *testing.T) {
	for _, text := range []string{
		``, `{}`, `[]`, `null`, `{"v":1`, `{"v":1}}`, `{"v":1},`, `{"v":1,}`, `{,"v":1}`, `{"v" 1}`, `{"v":1 "id":"a"}`, `{"v":01}`, `{"v":-0}`, `{"v":1.0}`,
		`{"v":1e3}`, `{"v":+1}`, `{"v":-}`, `{"v":.5}`, `{"v":1234567890123456789}`, `{"v":"1"}`, `{"v":null}`, `{"v":true}`, `{"v":1,"v":1}`,
		`{"id":"a\u0041"}`, `{"id":"a` + "\n" + `"}`, `{"id":"a` + "\x00" + `"}`, `{"id":"` + "\xff" + `"}`, `{"id":a}`, `{"id":"a}`, `{"ID":"a"}`, `{"x":1}`, `{"bot":1}`,
		`{"bot":truer}`, `{"bot":tru}`, `{"bot":"true"}`, `{"ts":"1"}`, `{"amount":{}}`, `{"amount":[1]}`, "{\"v\":1}\x00", "\ufeff{\"v\":1}", `{"\u0076":1}`, `{"v":1}{"v":1}`,
	} {
		if _, _, ok := fastClick([]byte(text)); ok {
			t.Errorf("the fast path read a click from %q", text)
		}
		if _, ok := DefaultPlan().fastVisit([]byte(text)); ok {
			t.Errorf("the fast path read a visit from %q", text)
		}
	}
}

func FuzzFastJSON(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, data) })
}

func BenchmarkTakeClick(b *testing.B) {
	data := []byte(`{"v":1,"id":"0190b0a0-0000-7000-8000-000000000000","short_url":"l000001","ip":"10.0.0.1","country":"IT","ts":1709510400000,` +
		`"referrer":"facebook.com","ua":"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"}`)
	written := append(data[:len(data)-1:len(data)-1], `,"browser":"Chrome","system":"Windows","device":"desktop"}`...)
	b.Run("as the producer writes it", func(b *testing.B) {
		for b.Loop() {
			if _, err := UnmarshalClick(written, false); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := TakeClick(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		for b.Loop() {
			if _, err := decodeClick(data, true); err != nil {
				b.Fatal(err)
			}
			if _, err := Fields(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
