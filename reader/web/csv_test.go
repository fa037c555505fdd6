package web

import "testing"

func TestCSVText(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := string(appendQuoted(nil, guarded(text))); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	f("", `""`)
	f("news.example", "news.example")
	f("2018-10-03T14:05:00.000Z", "2018-10-03T14:05:00.000Z")
	f(`a "b"`, `"a ""b"""`)
	f("=1+1", `"'=1+1"`)
	f("-1", "\"'-1\"")
	f("z;=1+1", `"z;=1+1"`) // a spreadsheet that splits at semicolons would find a formula after it
	f("z\t=1+1", "\"z\t=1+1\"")
	f("z =1+1", `"z =1+1"`)
	f("z|=1+1", `"z|=1+1"`)
}
