package main

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"footfall/internal/kafka/dial/dialtest"
	"footfall/test/harness"
)

// waiting starts a producer whose servers are not there, and returns when its log says that it waits for what. It lives and is not ready meanwhile,
// and says why.
func waiting(t *testing.T, what, why string, env ...string) (cmd *exec.Cmd, log *harness.Buffer) {
	t.Helper()
	admin := harness.FreeAddr(t)
	cmd, _, _ = producer(t, append(env, "FOOTFALL_HTTP_ADMIN_ADDR="+admin, "FOOTFALL_HTTP_ADDR=127.0.0.1:0"))
	log = &harness.Buffer{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	harness.Within(t, 30*time.Second, "it waits", func() error {
		if !strings.Contains(log.String(), `"msg":"waiting for `+what+`"`) {
			return errors.New(log.String())
		}
		return nil
	})
	f := func(path string, status int, texts ...string) {
		t.Helper()
		got, body := harness.Get(t, "http://"+admin+path)
		for _, text := range texts {
			if got != status || !strings.Contains(body, text) {
				t.Errorf("%s: %d %s, want %d %s", path, got, body, status, text)
			}
		}
	}
	f("/healthz", http.StatusOK, "ok")
	f("/readyz", http.StatusServiceUnavailable, "waiting for "+what+": ", why)
	f("/metrics", http.StatusOK, "footfall_build_info")
	if code, _, errs := finish(t, []string{"FOOTFALL_HTTP_ADMIN_ADDR=" + admin}, "healthz"); code != 1 || !strings.Contains(errs, "waiting for "+what) {
		t.Errorf("healthz: exit %d, %s", code, errs)
	}
	return cmd, log
}

// terminate sends SIGTERM. The process must end at once, with exit code 0.
func terminate(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	asked := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || time.Since(asked) > 2*time.Second {
		t.Errorf("after SIGTERM: %v after %v", err, time.Since(asked))
	}
}

// TestWaiting: a producer that is told to stop while it waits for Cassandra or Kafka stops at once.
func TestWaiting(t *testing.T) {
	env := []string{"FOOTFALL_LINKS_ENABLED=true", "FOOTFALL_KAFKA_BROKERS=127.0.0.1:1"}
	cmd, _ := waiting(t, "the store of links", "connecting to Cassandra at 127.0.0.1, port 1", append(env, "FOOTFALL_CASSANDRA_PORT=1")...)
	terminate(t, cmd)
	cmd, _ = waiting(t, "Kafka and its topics", "is Kafka running there?", env[1])
	terminate(t, cmd)

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	_, port, err := net.SplitHostPort(silent.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	cmd, _, stderr := producer(t, append(env, "FOOTFALL_HTTP_ADMIN_ADDR=127.0.0.1:0", "FOOTFALL_CASSANDRA_PORT="+port))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := silent.Accept() // it is connecting
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	terminate(t, cmd)
	if stderr.Len() > 0 {
		t.Errorf("it said %s", stderr)
	}
}

// TestUntrustedBroker: what waiting cannot mend ends a producer, with one JSON line in the log. (How a real Kafka refuses a login is in test/e2e.)
func TestUntrustedBroker(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(dialtest.NewFiles(t).Server))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	code, _, errs := finish(t, []string{"FOOTFALL_KAFKA_BROKERS=" + cluster.ListenAddrs()[0], "FOOTFALL_HTTP_ADMIN_ADDR=127.0.0.1:0", "FOOTFALL_HTTP_ADDR=127.0.0.1:0",
		"FOOTFALL_KAFKA_TLS_ENABLED=true", "FOOTFALL_KAFKA_TLS_CA=" + dialtest.NewFiles(t).CA})
	var line struct{ Level, Msg, Error string }
	if err := json.Unmarshal([]byte(errs), &line); err != nil || code != 1 || line.Level != "ERROR" || !strings.Contains(line.Error, "unknown authority") {
		t.Errorf("exit %d, %s", code, errs)
	}
}
