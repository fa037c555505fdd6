package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"footfall/configs"
	"footfall/test/harness"
)

const clicks = "SELECT value FROM urlshortener.clickcounter WHERE short_url = 'abc'"

func click(id, ip, ts string) map[string]any {
	at, err := time.Parse("2006-01-02 15:04", ts)
	if err != nil {
		panic(err)
	}
	return map[string]any{"id": id, "short_url": "abc", "ip": ip, "country": "IT", "ts": at.UnixMilli()}
}

func visit(id, guid, ts, feature string) map[string]any {
	at, err := time.Parse("2006-01-02 15:04", ts)
	if err != nil {
		panic(err)
	}
	return map[string]any{"id": id, "siteId": "site1", "guid": guid, "feature1": feature, "ts": at.UnixMilli()}
}

// TestEndToEnd: events sent over HTTP are counted a moment later, and after a restart footfall goes on where it stopped.
func TestEndToEnd(t *testing.T) {
	dir := t.TempDir()
	f := start(t, dir)
	r := reader(t, dir)
	send := func(run string) {
		t.Helper()
		for _, e := range []map[string]any{
			click(run+"1", "203.0.113.7", "2018-10-01 14:05"),
			click(run+"2", "203.0.113.7", "2018-10-01 15:00"),
			click(run+"3", "203.0.113.8", "2018-10-02 00:00"),
			click(run+"3", "203.0.113.8", "2018-10-02 00:00"), // sent twice
			visit(run+"4", "g1", "2018-10-01 14:00", "facebook.com"),
			visit(run+"5", "g2", "2018-10-01 14:59", ""),
			visit(run+"6", "g1", "2018-10-31 10:00", "facebook.com"),
		} {
			mustPost(t, f.url, e)
		}
	}
	for run := range int64(3) {
		send(fmt.Sprintf("run-%d-", run))
		took := eventually(t, r, 3*(run+1), clicks)
		took += eventually(t, r, 3*(run+1), `SELECT visits FROM cardinality.Counts WHERE siteId = 'site1' AND month_interval_start = '2018-10-01'
			AND feature1 = '' AND feature2 = '' AND metric_type = 'month_views' AND interval_start = '2018-10-01'`)
		t.Logf("run %d: counted within %v", run, took.Round(time.Millisecond))

		if err := f.stop(); err != nil {
			t.Fatalf("stopping: %v", err)
		}
		if log := f.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, "anyone may write") {
			t.Errorf("a run without incidents logs one warning, that access is open, but: %s", log)
		}
		f = start(t, dir)
	}
	for query, want := range map[string][][]string{
		"SELECT hour, value FROM urlshortener.hourcounters WHERE short_url = 'abc' LIMIT 24;": {
			{"2018-10-02 00:00", "3"}, {"2018-10-01 15:00", "3"}, {"2018-10-01 14:00", "3"}},
		"SELECT country, value FROM urlshortener.countrycounters WHERE short_url = 'abc';":                       {{"IT", "9"}},
		"SELECT label, value FROM urlshortener.monthcounters WHERE short_url = 'abc' AND dimension = 'country';": {{"IT", "9"}},
		"SELECT value FROM urlshortener.uniquecounter WHERE short_url = 'abc';":                                  {{"2"}},
		"SELECT ip FROM urlshortener.uniquecounterips WHERE short_url = 'abc';":                                  {{"203.0.113.7"}, {"203.0.113.8"}},
		`SELECT visits FROM cardinality.Counts WHERE siteId = 'site1' AND month_interval_start = '2018-10-01'
   AND feature1 = 'facebook.com' AND feature2 = '' AND metric_type = 'month_unique' AND interval_start = '2018-10-01';`: {{"1"}},
		`SELECT interval_start, visits FROM cardinality.Counts WHERE siteId = 'site1' AND month_interval_start = '2018-10-01'
   AND feature1 = '' AND feature2 = '' AND metric_type = 'day_unique';`: {{"2018-10-01", "2"}, {"2018-10-31", "1"}},
		"SELECT DISTINCT epoch >> 31 FROM footfall.owners": {{"1"}}, // clean stops: no new epochs
	} {
		if got, err := r.Query(t.Context(), query); err != nil || !reflect.DeepEqual(got.Rows, want) {
			t.Errorf("%s\ngives %v, %v\nwant  %v", query, got.Rows, err, want)
		}
	}
}

// TestHealth: health and the metrics of all parts are served.
func TestHealth(t *testing.T) {
	f := start(t, t.TempDir())
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		response, err := http.Get(f.admin + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, response.Status)
		}
	}
}

// Profiles are for operators, and only if http.pprof is set.
func TestProfilesAreForOperators(t *testing.T) {
	f := func(setting string, operators int) {
		t.Helper()
		t.Setenv("FOOTFALL_HTTP_PPROF", setting)
		r := start(t, t.TempDir())
		for at, want := range map[string]int{r.admin: operators, r.url: http.StatusNotFound, r.reader: http.StatusNotFound} {
			for _, path := range []string{"/debug/pprof/", "/debug/pprof/goroutine", "/debug/pprof/cmdline"} {
				response, err := http.Get(at + path)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				if response.StatusCode != want {
					t.Errorf("http.pprof %s: %s%s is answered with %s, want %d", setting, at, path, response.Status, want)
				}
			}
		}
	}
	f("false", http.StatusNotFound)
	f("true", http.StatusOK)
}

func TestRefusesToStart(t *testing.T) {
	dir := t.TempDir()
	f := start(t, dir)
	attempt := func(dir, addr string) error {
		cfg := configs.Embedded{}
		cfg.HTTP.Addr, cfg.Data.Dir = addr, dir
		return serve(t.Context(), cfg, discard, func(addresses) { t.Error("the producer listened") })
	}
	wantError(t, attempt(dir, "127.0.0.1:0"), "another footfall uses this data.dir", "FOOTFALL_DATA_DIR")
	wantError(t, attempt(t.TempDir(), strings.TrimPrefix(f.url, "http://")), "address already in use", "FOOTFALL_HTTP_ADDR")
	wantError(t, attempt(t.TempDir(), "203.0.113.1:1"), "http.addr")
	wantError(t, attempt(filepath.Join(dir, "lock"), "127.0.0.1:0"), "data.dir")

	mustPost(t, f.url, click("1", "203.0.113.7", "2018-10-01 14:05"))
	eventually(t, reader(t, dir), 1, clicks)
	if err := f.stop(); err != nil {
		t.Fatal(err)
	}
	// A part of the data directory was lost, or restored from elsewhere.
	other := t.TempDir()
	if err := start(t, other).stop(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		harm       func(dir string) error
	}{
		{"no broker", "another log", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "broker")) }},
		{"no store", "their counts are gone", func(dir string) error {
			files, err := filepath.Glob(filepath.Join(dir, "*.db*"))
			for _, file := range files {
				if err := os.Remove(file); err != nil {
					return err
				}
			}
			return err
		}},
		{"other broker", "another log", func(dir string) error {
			if err := os.RemoveAll(filepath.Join(dir, "broker")); err != nil {
				return err
			}
			return os.CopyFS(filepath.Join(dir, "broker"), os.DirFS(filepath.Join(other, "broker")))
		}},
		{"no tail", "the log has lost its end", func(dir string) error {
			segments, err := filepath.Glob(filepath.Join(dir, "broker", "partitions", "clicks-*", "*.dat"))
			if len(segments) != 1 {
				return fmt.Errorf("found %v, %w", segments, err)
			}
			return os.Truncate(segments[0], 10)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			if err := c.harm(copied); err != nil {
				t.Fatal(err)
			}
			wantError(t, attempt(copied, "127.0.0.1:0"), c.want, "data.dir")
		})
	}
}

// TestStopsWhileStarting: stopped before it is ready, it ends without an error.
func TestStopsWhileStarting(t *testing.T) {
	addr := harness.FreeAddr(t)
	for range 5 {
		cfg := configs.Embedded{}
		cfg.HTTP.Addr, cfg.Data.Dir = addr, t.TempDir()
		if err := serve(cancelled(t), cfg, discard, func(addresses) {}); err != nil {
			t.Errorf("stopped at once: %v", err)
		}
	}
}
