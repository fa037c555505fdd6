package web

import (
	"os"
	"regexp"
	"testing"

	"footfall/reader/stats"
)

// TestCommandsOfTheDocumentation asks what the curl commands of docs/reader.md ask.
func TestCommandsOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/reader.md")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, stats.New(counted(), "clicks", "visits"), open, nil)
	commands := regexp.MustCompile(`(?m)^curl .*?127\.0\.0\.1:8082(/[^' \n]*)`).FindAllStringSubmatch(string(text), -1)
	for _, c := range commands {
		if w := get(s, c[1]); w.Code != 200 {
			t.Errorf("%s\n%d %s", c[0], w.Code, w.Body)
		}
	}
	if len(commands) < 5 {
		t.Errorf("found %d commands only", len(commands))
	}
}

// TestMetricIfNoneIsAsked: views, or unique visitors of a combination of features, whose views are not kept.
func TestMetricIfNoneIsAsked(t *testing.T) {
	f := newFake()
	s := newServer(t, f, open, nil)
	ask := func(target string, want stats.Metric) {
		t.Helper()
		if w := get(s, target); w.Code != 200 {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
			return
		}
		got := stats.Metric("")
		switch q := f.asked[0].(type) {
		case stats.TopQuery:
			got = q.Metric
		case stats.SeriesQuery:
			got = q.Metric
		}
		if got != want {
			t.Errorf("%s asks for %q, want %q", target, got, want)
		}
	}
	const series, top = "/v1/stats/sites/s/series?from=2018-10-01&to=2018-11-01", "/v1/stats/sites/s/top/feature2?limit=3"
	ask(top, stats.Views)
	ask(top+"&feature1=x", stats.Unique)
	ask(top+"&feature1=x&metric=views", stats.Views) // which the store refuses
	ask(series, stats.Views)
	ask(series+"&feature1=x", stats.Views)
	ask(series+"&feature1=x&feature2=y", stats.Unique)
	ask(series+"&metric=unique", stats.Unique)
}
