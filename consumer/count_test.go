package main

import (
	"bytes"
	"errors"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"footfall/test/harness"
)

var startedAt = regexp.MustCompile(`"consumer started","addr":"([^"]+)"`)

// A consumer without Cassandra lives, is not ready, says why, and stops at once when it is told to.
func TestWaiting(t *testing.T) {
	log := &harness.Buffer{}
	cmd := harness.Self(t, "consumer", []string{"FOOTFALL_CASSANDRA_PORT=1", "FOOTFALL_HTTP_ADDR=127.0.0.1:0"})
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	harness.Within(t, 30*time.Second, "it waits", func() error {
		if !strings.Contains(log.String(), `"msg":"waiting for Cassandra","error":"connecting to Cassandra at 127.0.0.1, port 1`) {
			return errors.New(log.String())
		}
		return nil
	})
	at := startedAt.FindStringSubmatch(log.String())
	if at == nil {
		t.Fatalf("it does not say where it listens: %s", log)
	}
	f := func(path string, status int, want string) {
		t.Helper()
		if got, body := harness.Get(t, "http://"+at[1]+path); got != status || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %d %s", path, got, body, status, want)
		}
	}
	f("/healthz", http.StatusOK, "ok")
	f("/readyz", http.StatusServiceUnavailable, "waiting for Cassandra: connecting to Cassandra at 127.0.0.1, port 1")
	f("/metrics", http.StatusOK, `footfall_build_info{component="consumer"`)
	asked := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || time.Since(asked) > 2*time.Second {
		t.Errorf("after SIGTERM: %v after %v\n%s", err, time.Since(asked), log)
	}
}

// A command fails at once, unless it is told to wait.
func TestCommandsWithoutCassandra(t *testing.T) {
	f := func(least, most time.Duration, waits int, args ...string) {
		t.Helper()
		cmd := harness.Self(t, "consumer", []string{"FOOTFALL_CASSANDRA_PORT=1"}, args...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		begun := time.Now()
		err := cmd.Run()
		took := time.Since(begun)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || took < least || took > most || strings.Count(errs.String(), `"waiting for Cassandra"`) != waits ||
			!strings.Contains(errs.String(), "\nconsumer: ") && !strings.HasPrefix(errs.String(), "consumer: ") || !strings.Contains(errs.String(), "connection refused") {
			t.Errorf("%v: %v after %v: %s", args, err, took, errs.String())
		}
	}
	f(0, 10*time.Second, 0, "migrate")
	f(0, 10*time.Second, 0, "audit")
	f(0, 10*time.Second, 0, "rebuild", "--keyspace-suffix", "_v2")
	f(2*time.Second, 20*time.Second, 1, "migrate", "--wait", "2s")
}
