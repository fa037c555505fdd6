package web

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"footfall/reader/stats"
)

const asOfText = `"as_of":{"time":"2018-10-03T14:05:00Z","lag_events":3,"counting":true,"doubts":0}`

// TestAnswers has one answer of every route, as it is to the byte, and what the store was asked.
func TestAnswers(t *testing.T) {
	f := newFake()
	s := newServer(t, f, open, nil)
	october := stats.Period{Unit: stats.Month, Start: millis("2018-10")}
	ask := func(target, want string, asked ...any) {
		t.Helper()
		w := get(s, target)
		if got := w.Body.String(); w.Code != 200 || got != want+"\n" || !json.Valid([]byte(got)) {
			t.Errorf("%s\n%d %s\nwant %s", target, w.Code, got, want)
		}
		if !reflect.DeepEqual(f.asked, asked) {
			t.Errorf("%s asked for %v, want %v", target, f.asked, asked)
		}
		if h := w.Header(); h.Get("Content-Type") != "application/json" || h.Get("Footfall-As-Of") == "" || h.Get("Etag") == "" || h.Get("Content-Length") == "" {
			t.Errorf("%s: %v", target, h)
		}
	}
	ask("/v1/stats/links?day=2018-10-02", `{"day":"2018-10-02",`+asOfText+`,"links":[
{"short_url":"abc"},
{"short_url":"=1+1"},
{"short_url":"shop1"}
]}`, millis("2018-10-02"))
	ask("/v1/stats/links/abc", `{"short_url":"abc","long_url":"https://x.example/\u003cb\u003e","clicks":5,"unique":3,"bots":1,`+asOfText+`}`, "abc")
	ask("/v1/stats/links/abc/series?by=day&from=2018-10-01", `{"short_url":"abc","by":"day","from":"2018-10-01T00:00:00Z","to":null,`+asOfText+`,"points":[
{"start":"2018-10-01T00:00:00Z","clicks":5},
{"start":"2018-10-03T00:00:00Z","clicks":7}
]}`, "abc", stats.Day, stats.Range{From: millis("2018-10-01")})
	ask("/v1/stats/links/abc/series?from=2018-10-01&to=2018-10-04&fill=zero", `{"short_url":"abc","by":"day","from":"2018-10-01T00:00:00Z","to":"2018-10-04T00:00:00Z",`+asOfText+`,"points":[
{"start":"2018-10-01T00:00:00Z","clicks":5},
{"start":"2018-10-02T00:00:00Z","clicks":0},
{"start":"2018-10-03T00:00:00Z","clicks":7}
]}`, "abc", stats.Day, stats.Range{From: millis("2018-10-01"), To: millis("2018-10-04")})
	ask("/v1/stats/links/abc/referrers?limit=7", `{"short_url":"abc","from":null,"to":null,`+asOfText+`,"referrers":[
{"referrer":"IT","clicks":4},
{"referrer":"=cmd|\"x\"!A1","clicks":-1}
]}`, "abc", "referrers", stats.Range{}, 7)
	ask("/v1/stats/links/abc/countries", `{"short_url":"abc","from":null,"to":null,`+asOfText+`,"countries":[
{"country":"IT","clicks":4},
{"country":"=cmd|\"x\"!A1","clicks":-1}
]}`, "abc", "countries", stats.Range{}, 0)
	ask("/v1/stats/links/abc/amounts?by=month", `{"short_url":"abc","by":"month","from":null,"to":null,`+asOfText+`,"amounts":[
{"start":"2018-10-01T00:00:00Z","num":2,"sum":-250}
]}`, "abc", stats.Month, stats.Range{})
	ask("/v1/stats/links/abc/latest", `{"short_url":"abc","day":"2018-10-03",`+asOfText+`,"clicks":[
{"at":"2018-10-03T14:05:00.000Z","country":"IT","referrer":"","bot":true,"id":"i","ip":"203.0.113.7"}
]}`, "abc", millis("2018-10-03"))
	ask("/v1/stats/sites?month=2018-09", `{"month":"2018-09",`+asOfText+`,"sites":[
{"siteId":"abc"},
{"siteId":"=1+1"},
{"siteId":"shop1"}
]}`, millis("2018-09"))
	ask("/v1/stats/sites/shop?feature1=g%26h", `{"siteId":"shop","features":{"feature1":"g\u0026h"},"period":"2018-10","from":"2018-10-01T00:00:00Z","to":"2018-11-01T00:00:00Z",`+
		`"views":9,"unique":null,"final":true,`+asOfText+`}`, "shop", october, map[string]string{"feature1": "g&h"})
	ask("/v1/stats/sites/shop/series?metric=unique&by=day&from=2018-10-01&to=2018-11-01", `{"siteId":"shop","features":{},"metric":"unique","by":"day","from":"2018-10-01T00:00:00Z","to":"2018-11-01T00:00:00Z",`+asOfText+`,"points":[
{"start":"2018-10-01T00:00:00Z","unique":5,"final":true},
{"start":"2018-10-03T00:00:00Z","unique":7,"final":false}
]}`, stats.SeriesQuery{Site: "shop", Metric: stats.Unique, By: stats.Day, Within: october.Range()})
	ask("/v1/stats/sites/shop/values/feature2", `{"siteId":"shop","feature":"feature2","month":"2018-10",`+asOfText+`,"values":[
{"value":"abc"},
{"value":"=1+1"},
{"value":"shop1"}
]}`, "shop", "feature2", millis("2018-10"))
	ask("/v1/stats/sites/shop/top/feature2?period=2018-W40&feature.feature1=x&limit=5", `{"siteId":"shop","features":{"feature1":"x"},"feature":"feature2","metric":"unique","period":"2018-W40","from":"2018-10-01T00:00:00Z","to":"2018-10-08T00:00:00Z",`+
		`"values":20000,"complete":false,"final":false,`+asOfText+`,"top":[
{"value":"/a","unique":2}
]}`, stats.TopQuery{Site: "shop", Feature: "feature2", Period: stats.Period{Unit: stats.Week, Start: millis("2018-W40")}, Metric: stats.Unique, Features: map[string]string{"feature1": "x"}, Limit: 5})
}

func TestFormats(t *testing.T) {
	s := newServer(t, newFake(), open, nil)
	f := func(target, accept, mediaType, want string) {
		t.Helper()
		w := get(s, target, "Accept: "+accept)
		if got := w.Body.String(); w.Code != 200 || got != want || !strings.HasPrefix(w.Header().Get("Content-Type"), mediaType) {
			t.Errorf("%s as %s\n%d %v\n%s\nwant %s", target, accept, w.Code, w.Header(), got, want)
		}
		if attached := w.Header().Get("Content-Disposition") != ""; attached != (mediaType != "application/json") {
			t.Errorf("%s: Content-Disposition %q", target, w.Header().Get("Content-Disposition"))
		}
	}
	csv := "referrer,clicks\nIT,4\n\"'=cmd|\"\"x\"\"!A1\",-1\n"
	ndjson := `{"referrer":"IT","clicks":4}` + "\n" + `{"referrer":"=cmd|\"x\"!A1","clicks":-1}` + "\n"
	f("/v1/stats/links/abc/referrers", "text/csv", "text/csv", csv)
	f("/v1/stats/links/abc/referrers?format=csv", "application/json", "text/csv", csv)
	f("/v1/stats/links/abc/referrers", "application/json;q=0.5, text/csv;q=0.9, application/x-ndjson;q=0.1", "text/csv", csv)
	f("/v1/stats/links/abc/referrers", "application/x-ndjson", "application/x-ndjson", ndjson)
	f("/v1/stats/links/abc/referrers?format=ndjson", "text/html", "application/x-ndjson", ndjson)
	f("/v1/stats/links/abc/latest?format=csv", "", "text/csv", "at,country,referrer,bot,id,ip\n2018-10-03T14:05:00.000Z,IT,\"\",true,i,203.0.113.7\n")
	if w := get(s, "/v1/stats/sites/shop/top/feature1?format=csv"); w.Header().Get("Footfall-Complete") != "false" || !strings.Contains(w.Header().Get("Footfall-As-Of"), `"lag_events":3`) {
		t.Errorf("a file does not tell what it lacks: %v", w.Header())
	}
	if w := get(s, "/v1/stats/links/abc/referrers", "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"); w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("a browser gets %v", w.Header())
	}
}

func TestAcceptedFormats(t *testing.T) {
	f := func(accept, want string) {
		t.Helper()
		got := "none"
		if chosen, err := chooseFormat("", accept, true); err == nil {
			got = chosen.ending
		}
		if got != want {
			t.Errorf("%q: %s, want %s", accept, got, want)
		}
	}
	f("", "json")
	f("*/*", "json")
	f("text/*", "csv")
	f("text/csv, */*;q=0.1", "csv")
	f("application/*, text/csv;q=0.5", "json")
	f("application/json;q=0, */*", "csv")
	f("application/jsonl", "ndjson")
	f("APPLICATION/JSON", "json")
	f("text/html", "none")
	f("text/csv;q=0", "none")
	f("text/csv;q=nan, application/json;q=2", "none")
	f(strings.Repeat("a/b,", 1000)+"text/csv", "csv")
	f(";;;,,,=", "none")
}
