package plot

import (
	"encoding/xml"
	"regexp"
	"strings"
	"testing"
)

func TestWorld(t *testing.T) {
	draw := func(counts map[string]int64) string {
		return string(World{ID: "m", Title: "Clicks by country", Desc: "Most: <x>", Noun: "clicks", Counts: counts, Name: func(code string) string { return "<" + code + ">" }}.SVG())
	}
	got := draw(map[string]int64{"DE": 10_000, "FR": 5_000, "IT": 1, "CN": -3, "ZZ": 9})
	for _, want := range []string{`<path class="s5" d="M`, `<title>&lt;DE&gt;: 10,000 clicks</title>`, `<path class="s4" d="`, `<path class="s1" d="`, `<desc id="m-d">Most: &lt;x&gt;</desc>`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
	if n := strings.Count(got, "<path"); n != 1+3 {
		t.Errorf("%d paths: want one of all land without a number, and one for each country", n)
	}
	if err := xml.Unmarshal([]byte(got), new(any)); err != nil {
		t.Error(err)
	}
	if none := draw(nil); strings.Count(none, "<path") != 1 {
		t.Error("there are numbers of nothing")
	}
}

// Every shape is closed and has a code once; all that has none is land.
func TestShapes(t *testing.T) {
	seen, shape := map[string]bool{}, regexp.MustCompile(`^([A-Z]{2}|-)\t(M\d+ \d+l[-0-9 ]+z)+$`)
	for line := range strings.Lines(worldShapes) {
		code, _, _ := strings.Cut(line, "\t")
		if !shape.MatchString(strings.TrimSuffix(line, "\n")) || seen[code] && code != "-" {
			t.Errorf("%.60s", line)
		}
		seen[code] = true
	}
	if len(seen) < 170 {
		t.Errorf("%d countries", len(seen))
	}
}
