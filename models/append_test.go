package models

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// sameBytes fails unless AppendEvent makes the same bytes as encoding/json.
func sameBytes(t *testing.T, event Event) {
	t.Helper()
	want, wantErr := json.Marshal(event)
	got, err := AppendEvent([]byte("before"), event)
	if (err == nil) != (wantErr == nil) || err == nil && string(got) != "before"+string(want) {
		t.Errorf("%+v:\n%s (%v), want\n%s (%v)", event, got, err, want, wantErr)
	}
}

// awkward are texts that JSON has to escape, or that look as if.
var awkward = []string{
	"", "a", `"`, `\`, "/", "<script>", "a&b", "'", "\x00", "\b\f\n\r\t", "\x1f", "\x7f", "é", "żółw😀", "\u2028", "a\u2029b",
	"\ufffd", "\xff", "a\xc3", "\xed\xa0\x80", "\u0085", "\ufeff",
}

// filled is a click with a text in every field that takes one.
func filled(text string) *Click {
	c := &Click{V: 1, TS: 1538402700000}
	for s, i := reflect.ValueOf(c).Elem(), 0; i < s.NumField(); i++ {
		if s.Field(i).Kind() == reflect.String {
			s.Field(i).SetString(text)
		}
	}
	for _, name := range c.Names() {
		*name = text
	}
	return c
}

func TestAppendEventEqualsEncodingJSON(t *testing.T) {
	amounts := []int64{0, -5, MaxAmount}
	for i, text := range awkward {
		sameBytes(t, filled(text))
		sameBytes(t, &Click{V: -1, TS: Absent, UA: text, Amount: &amounts[i%3]})
		sameBytes(t, &Visit{V: 1, ID: text, SiteID: text, GUID: text, TS: 1538402700000, Features: []string{text, text + "x"}})
		sameBytes(t, &Visit{Features: []string{"", text, "", "d"}, Plan: fourFeatures})
	}
	sameBytes(t, &Visit{Features: []string{"one"}}) // its plan has two
	sameBytes(t, &Visit{})
}

func FuzzAppend(f *testing.F) {
	for i, text := range awkward {
		f.Add(1, text, "abc", int64(1538402700000+i), text, true, int64(i))
	}
	f.Fuzz(func(t *testing.T, v int, a, b string, ts int64, c string, bot bool, amount int64) {
		click := filled(a)
		if click.V, click.ShortURL, click.Referrer, click.TS, click.Bot = v, b, c, Millis(ts), bot; bot {
			click.Amount = &amount
		}
		sameBytes(t, click)
		sameBytes(t, &Visit{V: v, ID: a, SiteID: b, GUID: c, TS: Millis(ts), Features: []string{a, c}})
		sameBytes(t, &Visit{ID: c, TS: Millis(ts), Features: []string{c, "", b, a}, Plan: fourFeatures})
	})
}

// The fast path can read what AppendEvent writes. Else consumers would read all events the slow way.
func TestAppendEventIsReadByTheFastPath(t *testing.T) {
	text, err := AppendEvent(nil, filled("é"))
	if err != nil {
		t.Fatal(err)
	}
	if ok, _ := agree(t, text); !ok || bytes.ContainsAny(text, " \n") {
		t.Errorf("the fast path does not read %s", text)
	}
}

func BenchmarkAppendClick(b *testing.B) {
	c := &Click{V: 1, ID: "0190b0a0-0000-7000-8000-000000000000", ShortURL: "l000001", IP: "10.0.0.1", Country: "IT", TS: 1709510400000,
		Referrer: "facebook.com", UA: "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"}
	b.Run("appended", func(b *testing.B) {
		var buffer []byte
		for b.Loop() {
			buffer, _ = AppendEvent(buffer[:0], c)
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		for b.Loop() {
			if _, err := json.Marshal(c); err != nil {
				b.Fatal(err)
			}
		}
	})
}
