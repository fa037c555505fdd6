package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"footfall/configs"
	"footfall/embedded/sqlite"
	"footfall/test/harness"
)

// TestMain lets this test binary run as the embedded binary, so that tests can kill what users run.
func TestMain(m *testing.M) {
	harness.Main(m, map[string]func(){"embedded": main, "embedded with few files": fewFiles})
}

// patience is how long a test waits for what takes a second on an idle machine.
const patience = 30 * time.Second

// running is footfall in this process.
type running struct {
	url   string
	admin string // where health and metrics are
	// reader is where questions are answered.
	reader string
	log    *harness.Buffer
	stop   func() error
}

// start starts what the binary starts, on a free port, and stops it when the test ends.
func start(t *testing.T, dir string) *running {
	t.Helper()
	cfg, err := configs.LoadEmbedded("")
	if err != nil {
		t.Fatal(err)
	}
	cfg.HTTP.Addr, cfg.HTTP.AdminAddr, cfg.HTTP.ReaderAddr, cfg.Data.Dir = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", dir
	r := &running{log: &harness.Buffer{}}
	log := slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: cfg.Log.Level}))
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan addresses, 1), make(chan error, 1)
	go func() { ended <- serve(ctx, cfg, log, func(at addresses) { ready <- at }) }()
	r.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	select {
	case at := <-ready:
		r.url, r.admin, r.reader = at.producer, "http://"+at.admin, at.reader
	case err := <-ended:
		ended <- nil
		t.Fatalf("footfall did not start: %v", err)
	case <-time.After(patience):
		t.Fatalf("footfall did not start in time; its log: %s", r.log)
	}
	return r
}

// post sends one event and returns the status, or an error if there was no answer.
func post(url string, event map[string]any) (int, error) {
	body, err := json.Marshal(event)
	if err != nil {
		return 0, err
	}
	path := "/v1/clicks"
	if event["siteId"] != nil {
		path = "/v1/visits"
	}
	response, err := http.Post(url+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

func mustPost(t *testing.T, url string, event map[string]any) {
	t.Helper()
	if status, err := post(url, event); err != nil || status != http.StatusAccepted {
		t.Fatalf("posting %v: %d, %v", event, status, err)
	}
}

// reader opens the counts for reading; the process may be running.
func reader(t *testing.T, dir string) *sqlite.Reader {
	t.Helper()
	r, err := sqlite.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// number asks for a single number; no row is 0.
func number(t *testing.T, r *sqlite.Reader, query string, args ...any) int64 {
	t.Helper()
	table, err := r.Query(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if len(table.Rows) == 0 || table.Rows[0][0] == "null" {
		return 0
	}
	n, err := strconv.ParseInt(table.Rows[0][0], 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// eventually polls a number until it is want, and returns how long that took.
func eventually(t *testing.T, r *sqlite.Reader, want int64, query string, args ...any) time.Duration {
	t.Helper()
	begin := time.Now()
	for {
		got := number(t, r, query, args...)
		if got == want {
			return time.Since(begin)
		}
		if got > want {
			t.Fatalf("%s: %d, want %d: counted twice", query, got, want)
		}
		if time.Since(begin) > patience {
			t.Fatalf("%s: still %d after %v, want %d", query, got, patience, want)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
