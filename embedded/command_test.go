package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"footfall/configs"
	"footfall/embedded/sqlite"
	"footfall/models"
)

var discard = slog.New(slog.DiscardHandler)

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", words)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not say %q: %v", word, err)
		}
	}
}

func TestCommandLine(t *testing.T) {
	f := func(args []string, wrong bool) {
		t.Helper()
		var out bytes.Buffer
		err := command(cancelled(t), args, &out, &out)
		if errors.Is(err, errUsage) != wrong || err == nil == wrong {
			t.Errorf("%q: %v", args, err)
		}
		if !wrong && !strings.HasPrefix(out.String(), "Usage: embedded") {
			t.Errorf("%q prints %q", args, out.String())
		}
	}
	f([]string{"--help"}, false)
	f([]string{"-h"}, false)
	f([]string{"query", "--help"}, false)
	f([]string{"--nosuchflag"}, true)
	f([]string{"nosuchcommand"}, true)
	f([]string{"query"}, true)
	f([]string{"query", "SELECT", "1"}, true)
	f([]string{"", "x"}, true)
}

// A wrong query is reported as a mistake in the command line, in one line.
func TestWrongQueries(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("FOOTFALL_DATA_DIR", dir)
	store, err := sqlite.Open(t.Context(), dir, models.DefaultPlan())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	for sql, want := range map[string]string{
		"": "empty", " \n": "empty", ";": "asks for nothing", "-- nothing": "asks for nothing", "SELEKT 1": "syntax error", "SELECT\n1 FROM\n": "incomplete",
		"SELECT x FROM urlshortener.clickcounter": "no such column", "SELECT 1 FROM nowhere": "no such table",
		"DELETE FROM urlshortener.clickcounter": "readonly",
	} {
		err := command(t.Context(), []string{"query", sql}, io.Discard, io.Discard)
		if !errors.Is(err, errUsage) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", sql, err, want)
		}
	}
}

func TestAFileWithKeys(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "my.yaml")
	if err := os.WriteFile(file, []byte("data:\n  dir: "+filepath.Join(dir, "of the file")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantError(t, command(t.Context(), []string{"query", "SELECT 1", "--config", file}, io.Discard, io.Discard), "of the file")
}

func TestUnknownKey(t *testing.T) {
	t.Setenv("FOOTFALL_DATA_DIRECTORY", "x")
	wantError(t, command(t.Context(), nil, nil, nil), "FOOTFALL_DATA_DIRECTORY")
}

// TestBadConfiguration: every wrong value is marked as a mistake in the configuration, so that the process exits with 2, even if only one
// of the parts notices it.
func TestBadConfiguration(t *testing.T) {
	for name, value := range map[string]string{
		"FOOTFALL_HTTP_ADDR": "nowhere", "FOOTFALL_PRIVACY_IP": "some", "FOOTFALL_DATA_LOG_BYTES": "-1", "FOOTFALL_VISITORS_IP_TTL": "1h", "FOOTFALL_CHUNK_MAX_EVENTS": "0", "FOOTFALL_KAFKA_PARTITIONS": "six",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("FOOTFALL_DATA_DIR", t.TempDir())
			if name != "FOOTFALL_HTTP_ADDR" {
				t.Setenv("FOOTFALL_HTTP_ADDR", "127.0.0.1:0")
			}
			t.Setenv(name, value)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			err := command(ctx, nil, io.Discard, io.Discard)
			if wrong := (*configs.Wrong)(nil); !errors.As(err, &wrong) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v is not marked as a mistake in the configuration, or takes more than a line", err)
			}
		})
	}
}

// TestKeysThatOpenWouldIgnore: access is open by default here, and keys would then have no effect, so footfall refuses to start with them.
func TestKeysThatOpenWouldIgnore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	t.Setenv("FOOTFALL_DATA_DIR", dir)
	t.Setenv("FOOTFALL_HTTP_ADDR", "127.0.0.1:0")
	t.Setenv("FOOTFALL_ACCESS_SITES", `[{"site":"shop","key_hashes":["`+strings.Repeat("ab", 32)+`"]}]`)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err := command(ctx, nil, io.Discard, io.Discard)
	wantError(t, err, "access.open", "FOOTFALL_ACCESS_OPEN=false")
	if wrong := (*configs.Wrong)(nil); !errors.As(err, &wrong) {
		t.Errorf("%v is not marked as a mistake in the configuration", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it made data.dir before it refused: %v", err)
	}
}

func TestGreeting(t *testing.T) {
	var out bytes.Buffer
	cfg, err := configs.LoadEmbedded("")
	if err != nil {
		t.Fatal(err)
	}
	greet(&out, "bin/embedded", addresses{producer: "http://127.0.0.1:8080", admin: "127.0.0.1:8083", reader: "http://127.0.0.1:8082"}, cfg)
	greet(&out, "bin/embedded", addresses{producer: "http://127.0.0.1:8080", reader: "http://127.0.0.1:8082", readKey: true}, cfg)
	t.Setenv("FOOTFALL_DATA_DIR", "a b")
	cfg.Data.Dir, cfg.Access.Open, cfg.Data.LogBytes, cfg.Data.LogAge = "a b", false, 0, 0
	greet(&out, "bin/embedded", addresses{producer: "http://127.0.0.1:8080"}, cfg)
	for _, want := range []string{
		"up to 128 MB (data.log_bytes) and 168h (data.log_age)", "kept for ever",
		"Anyone who reaches it may write (access.open). Metrics are at http://127.0.0.1:8083/metrics.\n", "Writing needs a key (access.sites).\n", "curl -i -H 'Content-Type", "curl -i -H 'Authorization: Bearer KEY' -H 'Content-Type",
		"http://127.0.0.1:8080", `"short_url":"abc"`, "http://127.0.0.1:8080/v1/clicks",
		"a second later:\n  curl http://127.0.0.1:8082/v1/stats/links/abc\n  bin/embedded", "a second later:\n  FOOTFALL_DATA_DIR",
		"a second later:\n  curl -H 'Authorization: Bearer READ_KEY' http://127.0.0.1:8082/v1/stats/links/abc\n  bin/embedded",
		"\n  bin/embedded query \"" + clicks + "\"\n", "\nLook at it in a browser: http://127.0.0.1:8082\n",
		"\n  FOOTFALL_DATA_DIR='a b' bin/embedded query \"" + clicks + "\"\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the greeting does not say %s:\n%s", want, out.String())
		}
	}
}

// TestQuery: a query works while footfall runs and after it has stopped.
func TestQuery(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("FOOTFALL_DATA_DIR", dir)
	var told bytes.Buffer
	ask := func(sql string) (string, error) {
		var out bytes.Buffer
		told.Reset()
		err := command(t.Context(), []string{"query", sql}, &out, &told)
		return out.String(), err
	}
	_, err := ask("SELECT 1")
	wantError(t, err, "FOOTFALL_DATA_DIR")

	f := start(t, dir)
	mustPost(t, f.url, click("1", "203.0.113.7", "2018-10-01 14:05"))
	mustPost(t, f.url, click("2", "2001:db8::1", "2018-10-01 15:05"))
	eventually(t, reader(t, dir), 2, clicks)
	const ips = "SELECT ip, kafka_offset AS at FROM urlshortener.uniquecounterips WHERE short_url = 'abc'"
	want := " ip          | at\n-------------+----\n  2001:db8:: |  0\n 203.0.113.7 |  0\n\n(2 rows)\n"
	if got, err := ask(ips); err != nil || got != want || told.Len() > 0 {
		t.Errorf("while it runs: %v\n%s%s\nwant\n%s", err, &told, got, want)
	}
	if err := f.stop(); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(ips); err != nil || got != want || !strings.Contains(told.String(), "no footfall runs on "+dir+": its counts are of 20") {
		t.Errorf("after it stopped: %v\n%s%s\nwant\n%s", err, &told, got, want)
	}
	_, err = ask("DELETE FROM urlshortener.clickcounter")
	wantError(t, err, "readonly")
	_, err = ask("SELECT value FROM nosuchtable")
	wantError(t, err, "no such table")
	t.Setenv("FOOTFALL_CASSANDRA_HOSTS", "10.0.0.1")
	_, err = ask(ips)
	wantError(t, err, "FOOTFALL_CASSANDRA_HOSTS is set", "cqlsh")
}

func TestFormat(t *testing.T) {
	table := sqlite.Table{Columns: []string{"città", "n"}, Rows: [][]string{{"Forlì", "1"}, {"", "12345"}, {"null", "-1"}}}
	want := " città | n\n-------+-------\n Forlì |     1\n       | 12345\n  null |    -1\n\n(3 rows)\n"
	if got := format(table); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := format(sqlite.Table{Columns: []string{"value"}}), " value\n-------\n\n(0 rows)\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestQueryShowsNoEscapeSequences: values come from senders, and a terminal would obey escape sequences in them.
func TestQueryShowsNoEscapeSequences(t *testing.T) {
	got := format(sqlite.Table{Columns: []string{"refer\x1brer", "value"}, Rows: [][]string{{"\x1b[2J\x1b]0;x\x07", "3"}, {"/index.html", "4"}}})
	want := " refer\\x1brer      | value\n-------------------+-------\n \\x1b[2J\\x1b]0;x\\a |     3\n       /index.html |     4\n\n(2 rows)\n"
	if got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
