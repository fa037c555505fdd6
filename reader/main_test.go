package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"footfall/internal/cql/cqltest"
	"footfall/migrations"
	"footfall/models"
	"footfall/test/harness"
)

// TestMain lets the test binary run as the reader, so that exit codes and signals are those of a process.
func TestMain(m *testing.M) { harness.Main(m, map[string]func(){"reader": main}) }

// finish runs a reader to its end.
func finish(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := harness.Self(t, "reader", env, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestMistakesEndWithTwo(t *testing.T) {
	f := func(want string, env []string, args ...string) {
		t.Helper()
		if code, _, errs := finish(t, env, args...); code != 2 || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v %v: exit %d, %s; want 2 and %s", env, args, code, errs, want)
		}
	}
	f("unknown argument", nil, "serve")
	f("--nonsense", nil, "--nonsense")
	f("http.addr", []string{"FOOTFALL_HTTP_ADDR=8082"})
	f("http.origins", []string{"FOOTFALL_HTTP_ORIGINS=stats.example"})
	f("http.tls", []string{"FOOTFALL_HTTP_TLS_CERT=x.pem"})
	f("access.readers", []string{`FOOTFALL_ACCESS_READERS=[{"site":"x"}]`})
	f("cassandra.timeout", []string{"FOOTFALL_CASSANDRA_TIMEOUT=0s"})
	f("--site or --link", nil, "share", "--until", "1h")
	f("access.share_secrets", nil, "share", "--until", "1h", "--site", "x")
	if code, out, _ := finish(t, nil, "--help"); code != 0 || !strings.Contains(out, "share") || !strings.Contains(out, "healthz") {
		t.Errorf("--help: exit %d, %s", code, out)
	}
	if code, out, _ := finish(t, nil, "--version"); code != 0 || !strings.HasPrefix(out, "footfall reader ") {
		t.Errorf("--version: exit %d, %s", code, out)
	}
	f("cassandra.consistency", []string{"FOOTFALL_CASSANDRA_CONSISTENCY=ALL"})
}

// launch starts a reader and returns when its log has a line with want.
func launch(t *testing.T, want string, env []string) (*exec.Cmd, *harness.Buffer) {
	t.Helper()
	log := &harness.Buffer{}
	cmd := harness.Self(t, "reader", env)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	logs(t, log, want)
	return cmd, log
}

func logs(t *testing.T, log *harness.Buffer, want string) {
	t.Helper()
	harness.Within(t, 30*time.Second, "it logs "+want, func() error {
		if !strings.Contains(log.String(), want) {
			return errors.New(log.String())
		}
		return nil
	})
}

// TestWaiting: a reader without Cassandra lives, is not ready, says why, and stops at once when it is told to.
func TestWaiting(t *testing.T) {
	admin := harness.FreeAddr(t)
	cmd, _ := launch(t, `"msg":"waiting for Cassandra"`, []string{"FOOTFALL_CASSANDRA_PORT=1", "FOOTFALL_HTTP_ADDR=127.0.0.1:0", "FOOTFALL_HTTP_ADMIN_ADDR=" + admin})
	if code, text := harness.Get(t, "http://"+admin+"/healthz"); code != http.StatusOK {
		t.Errorf("it is not alive: %d %s", code, text)
	}
	if code, text := harness.Get(t, "http://"+admin+"/readyz"); code != http.StatusServiceUnavailable || !strings.HasPrefix(text, "waiting for Cassandra: connecting to Cassandra at 127.0.0.1, port 1") {
		t.Errorf("it is ready: %d %s", code, text)
	}
	asked := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || time.Since(asked) > 2*time.Second {
		t.Errorf("after SIGTERM: %v after %v", err, time.Since(asked))
	}
}

// misdirected is the status for who asks with the name of another machine.
func misdirected(t *testing.T, addr, path string) int {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, "http://"+addr+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "evil.example"
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close() // only the status counts
	return response.StatusCode
}

var listening = regexp.MustCompile(`"listening","addr":"([^"]+)","admin":"([^"]+)"`)

// TestServe starts a reader before there are tables, makes them, asks, and stops it.
func TestServe(t *testing.T) {
	cfg := cqltest.Config(t)
	env := []string{
		"FOOTFALL_CASSANDRA_HOSTS=" + cfg.Hosts[0], "FOOTFALL_CASSANDRA_PORT=" + strconv.Itoa(cfg.Port), "FOOTFALL_CASSANDRA_KEYSPACE_SUFFIX=" + cfg.KeyspaceSuffix,
		"FOOTFALL_HTTP_ADDR=127.0.0.1:0", "FOOTFALL_HTTP_ADMIN_ADDR=127.0.0.1:0", "FOOTFALL_ACCESS_OPEN=true",
	}
	cmd, log := launch(t, "run `consumer migrate`", env)
	if err := migrations.Apply(t.Context(), cfg, models.DefaultPlan(), func(string, ...any) {}); err != nil {
		t.Fatal(err)
	}
	logs(t, log, `"listening"`)
	at := listening.FindStringSubmatch(log.String())
	f := func(addr, path string, status int, want string) {
		t.Helper()
		if code, text := harness.Get(t, "http://"+addr+path); code != status || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s; want %d %s", path, code, text, status, want)
		}
	}
	nothing := `"as_of":{"time":null,"lag_events":0,"counting":false,"doubts":0}`
	f(at[1], "/v1/stats/links/abc", 200, `"clicks":0,"unique":0,"bots":0,`+nothing)
	f(at[1], "/v1/stats/sites/shop?period=2018-10", 200, `"views":0,"unique":0,"final":false,`+nothing)
	f(at[1], "/v1/stats/sites?month=2018-10", 200, `"sites":[`)
	f(at[1], "/v1/stats/sites/shop/top/feature1?period=2018-10-03", 200, `"complete":true`)
	f(at[1], "/v1/stats/sites/shop/series?metric=unique&by=hour&from=2018-10-01&to=2018-10-02", 422, `"not_kept"`)
	for addr, path := range map[string]string{at[1]: "/v1/stats/links/abc", at[2]: "/metrics"} { // a page whose name leads to this machine
		if code := misdirected(t, addr, path); code != http.StatusMisdirectedRequest {
			t.Errorf("%s as evil.example: %d", path, code)
		}
	}
	f(at[1], "/healthz", 200, "ok")
	f(at[1], "/readyz", 404, "not_found")
	f(at[1], "/metrics", 404, "not_found")
	f(at[2], "/readyz", 200, "ready")
	f(at[2], "/metrics", 200, `footfall_reader_requests_total{code="200",route="/v1/stats/links/{short_url}"} 1`)
	if code, _, errs := finish(t, append(env, "FOOTFALL_HTTP_ADMIN_ADDR="+at[2]), "healthz"); code != 0 {
		t.Errorf("healthz: exit %d, %s", code, errs)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v; its log: %s", err, log)
	}
	for line := range strings.Lines(log.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("the log has %s", line)
		}
	}
}
