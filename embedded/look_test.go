package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"footfall/configs"
)

// TestLook: what was sent can be read over HTTP a moment later, by whoever is on this machine.
func TestLook(t *testing.T) {
	f := start(t, t.TempDir())
	mustPost(t, f.url, click("1", "203.0.113.7", "2018-10-01 14:05"))
	mustPost(t, f.url, click("2", "203.0.113.7", "2018-10-02 14:05"))
	mustPost(t, f.url, visit("3", "g1", "2018-10-01 14:00", "facebook.com"))
	look := func(path string, into any) int {
		t.Helper()
		response, err := http.Get(f.reader + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s: %s: %v", path, text, err)
		}
		return response.StatusCode
	}
	var link struct{ Clicks, Unique int64 }
	var site struct{ Views, Unique *int64 }
	for deadline := time.Now().Add(patience); link.Clicks < 2 || site.Views == nil || *site.Views < 1; {
		if time.Now().After(deadline) {
			t.Fatalf("not counted: %+v, %+v; the log: %s", link, site, f.log)
		}
		if code := look("/v1/stats/links/abc", &link); code != 200 {
			t.Fatal(code)
		}
		if code := look("/v1/stats/sites/site1?period=2018-10", &site); code != 200 {
			t.Fatal(code)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if link.Clicks != 2 || link.Unique != 1 || *site.Views != 1 || *site.Unique != 1 {
		t.Errorf("%+v, %+v", link, site)
	}
	var series struct {
		Points []struct {
			Start  string
			Clicks int64
		}
	}
	if look("/v1/stats/links/abc/series", &series); len(series.Points) != 2 || series.Points[1].Start != "2018-10-02T00:00:00Z" || series.Points[1].Clicks != 1 {
		t.Errorf("%+v", series)
	}
	var refused struct{ Error string }
	if code := look("/v1/stats/sites/site1/series?metric=unique&by=hour&from=2018-10-01&to=2018-10-02", &refused); code != 422 || refused.Error != "not_kept" {
		t.Errorf("%d %s", code, refused.Error)
	}
	request, err := http.NewRequest(http.MethodGet, f.reader+"/v1/stats/links/abc", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "evil.example" // a page that points its name to this machine
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a page elsewhere got %s", response.Status)
	}
}

// TestWhoMayLook: everybody on this machine, and nobody from elsewhere without a key.
func TestWhoMayLook(t *testing.T) {
	f := func(addr, readers string, open bool) {
		t.Helper()
		t.Setenv("FOOTFALL_ACCESS_READERS", readers)
		cfg := configs.Embedded{}
		cfg.HTTP.ReaderAddr = addr
		if got, err := readerParts(cfg); err != nil || got.Access.Open != open {
			t.Errorf("%s, %s: open %v, %v", addr, readers, got.Access.Open, err)
		}
	}
	key := `[{"site":"*","key_hashes":["` + strings.Repeat("ab", 32) + `"]}]`
	for _, writing := range []string{"true", "false"} { // another matter
		t.Setenv("FOOTFALL_ACCESS_OPEN", writing)
		f("127.0.0.1:0", "[]", true)
		f("localhost:0", "[]", true)
		f("[::1]:0", "[]", true)
		f("127.0.0.1:0", key, false)
		f("0.0.0.0:0", "[]", false)
		f(":0", "[]", false)
		f("192.0.2.1:0", "[]", false)
		f("0.0.0.0:0", key, false)
	}
}
