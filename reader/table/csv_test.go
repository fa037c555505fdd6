package table

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

// TestGuarded: whatever a spreadsheet might run is text, and what it was can be had again.
func TestGuarded(t *testing.T) {
	for _, text := range []string{"=1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", " =1", "\u200b=1", "＝1", "＠x", "'quoted", "'=1", "|x", "%x", "\x00=1"} {
		if got := guarded(text); got != "'"+text {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, text := range []string{"", "abc", "a=1", "https://x.example/?a=-1", "/index.html", "1", " x", "日本", "\"=1\""} {
		if got := guarded(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
