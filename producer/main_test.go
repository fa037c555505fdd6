package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/test/harness"
)

// TestMain lets the test binary run as the producer, so that exit codes and signals are those of a process, or as another program that
// tests need.
func TestMain(m *testing.M) {
	programs := map[string]func(){"producer": main, withLinks: producerWithLinks}
	for kind, h := range hostile {
		programs[kind] = func() { h.act(context.Background(), os.Args[1]) }
	}
	harness.Main(m, programs)
}

// producer is the command for a producer. Of FOOTFALL_… variables it has those in env only.
func producer(t *testing.T, env []string, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	cmd = harness.Self(t, "producer", append([]string{"FOOTFALL_ACCESS_OPEN=true"}, env...), args...)
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// finish runs a producer to its end.
func finish(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd, out, errs := producer(t, env, args...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// start starts a producer and returns when its log says where it listens; lines is the rest of the log.
func start(t *testing.T, env []string) (cmd *exec.Cmd, addr, admin string, lines *bufio.Scanner) {
	t.Helper()
	cmd, _, _ = producer(t, append(env, "FOOTFALL_HTTP_ADMIN_ADDR=127.0.0.1:0"))
	cmd.Stderr = nil
	logs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines = bufio.NewScanner(logs)
	var open struct{ Msg, Addr, Admin string }
	if !lines.Scan() {
		t.Fatal("no log line")
	}
	if err := json.Unmarshal(lines.Bytes(), &open); err != nil || open.Msg != "listening" {
		t.Fatalf("the first log line is %s", lines.Text())
	}
	return cmd, open.Addr, open.Admin, lines
}

func TestCommandLine(t *testing.T) {
	f := func(wantCode int, wantOut, wantErr string, args ...string) {
		t.Helper()
		code, out, errs := finish(t, nil, args...)
		if code != wantCode || !strings.Contains(out, wantOut) || !strings.Contains(errs, wantErr) {
			t.Errorf("producer %v: exit %d\nstdout: %s\nstderr: %s", args, code, out, errs)
		}
		if code != 0 && strings.Count(errs, "\n") != 1 {
			t.Errorf("producer %v: more than a line on stderr: %s", args, errs)
		}
	}
	f(0, "Usage: producer", "", "--help")
	f(0, "Usage: producer", "", "topics", "-h")
	f(0, "Usage: producer topics", "", "topics", "--help")
	f(0, "footfall producer ", "", "--version")
	f(2, "", `unknown argument "serve"; the commands are topics, healthz and doctor`, "serve")
	f(2, "", `unknown argument "now"`, "topics", "now")
	f(2, "", `unknown argument "topics"`, "topics", "topics")
	f(2, "", "-colour", "--colour=red")
	f(2, "", "-config", "--config")
	f(2, "", "none.yaml", "--config", filepath.Join(t.TempDir(), "none.yaml"))
	f(2, "", "none.yaml", "healthz", "--config", filepath.Join(t.TempDir(), "none.yaml"))
}

// TestBadConfiguration: whatever part notices it, the exit code is 2 with one line on stderr, without waiting for servers.
func TestBadConfiguration(t *testing.T) {
	f := func(want string, env ...string) {
		t.Helper()
		// Also with links, and a Cassandra that does not answer.
		for _, more := range [][]string{nil, {"FOOTFALL_LINKS_ENABLED=true", "FOOTFALL_CASSANDRA_PORT=1"}} {
			code, _, errs := finish(t, slices.Concat(more, env, []string{"FOOTFALL_KAFKA_BROKERS=127.0.0.1:1"}))
			if code != 2 || !strings.HasPrefix(errs, "producer: ") || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, want) {
				t.Errorf("%v: exit %d, want one line with %q: %s", env, code, want, errs)
			}
		}
	}
	f("FOOTFALL_HTTP_PORT", "FOOTFALL_HTTP_PORT=1")
	f("select is a reserved word", "FOOTFALL_FEATURES=referrer,select")
	f(`FOOTFALL_KAFKA_PARTITIONS is "six": want a number`, "FOOTFALL_KAFKA_PARTITIONS=six")
	f("select is a reserved word", "FOOTFALL_FEATURES=referrer,select")
	f("http.addr", "FOOTFALL_HTTP_ADDR=nowhere")
	f("http.addr", "FOOTFALL_HTTP_ADDR=127.0.0.1:99999")
	f("http.admin_addr", "FOOTFALL_HTTP_ADMIN_ADDR=8083")
	f("http.admin_addr", "FOOTFALL_HTTP_ADMIN_ADDR=127.0.0.1:8080")
	f("privacy.ip", "FOOTFALL_PRIVACY_IP=some")
	f("64 hex digits", "FOOTFALL_ACCESS_OPEN=false", `FOOTFALL_ACCESS_SITES=[{"site":"s","key_hashes":["short"]}]`)
	f("FOOTFALL_ACCESS_OPEN=false", `FOOTFALL_ACCESS_SITES=[{"site":"s","key_hashes":["`+strings.Repeat("0", 64)+`"]}]`)
	f("kafka.sasl", "FOOTFALL_KAFKA_SASL_MECHANISM=kerberos", "FOOTFALL_KAFKA_SASL_USERNAME=me")
	f("kafka.tls", "FOOTFALL_KAFKA_TLS_ENABLED=true", "FOOTFALL_KAFKA_TLS_CA=none.pem")
	f("http.tls", "FOOTFALL_HTTP_TLS_CERT=none.pem", "FOOTFALL_HTTP_TLS_KEY=none.pem")
	f("MaxMind", "FOOTFALL_ENRICHMENT_MAXMIND_FILE=none.mmdb")
	f("links.queue", "FOOTFALL_LINKS_ENABLED=true", "FOOTFALL_LINKS_QUEUE=0")
	f("links.base_url", "FOOTFALL_LINKS_ENABLED=true", "FOOTFALL_LINKS_BASE_URL=sho.rt")
	f("cassandra.keyspace_suffix", "FOOTFALL_LINKS_ENABLED=true", "FOOTFALL_CASSANDRA_KEYSPACE_SUFFIX=-")
}

// TestLife goes through the life of a producer: no topics, topics, serving, ready, SIGTERM.
func TestLife(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	env := []string{"FOOTFALL_KAFKA_BROKERS=" + strings.Join(cluster.ListenAddrs(), ","), "FOOTFALL_HTTP_ADDR=127.0.0.1:0"}

	early, log := waiting(t, "Kafka and its topics", "producer topics", env[0])
	if code, _, errs := finish(t, env, "topics", "--wait", "1m"); code != 0 || errs != "" {
		t.Fatalf("producer topics: exit %d, %s", code, errs)
	}
	harness.Within(t, 30*time.Second, "it listens, now that there are topics", func() error {
		if !strings.Contains(log.String(), `"msg":"listening"`) {
			return errors.New(log.String())
		}
		return nil
	})
	terminate(t, early)
	if n, err := topics.Partitions(t.Context(), dial.Plain(cluster.ListenAddrs()...), "dead-letters"); err != nil || n != 6 {
		t.Errorf("dead-letters has %d partitions, %v", n, err)
	}

	cmd, addr, admin, lines := start(t, env)
	at := []string{"FOOTFALL_HTTP_ADMIN_ADDR=" + admin}
	if code, _, errs := finish(t, at, "healthz"); code != 0 {
		t.Errorf("healthz of a ready producer: exit %d, %s", code, errs)
	}
	response, err := http.Post("http://"+addr+"/track?siteId=s", "application/x-www-form-urlencoded", strings.NewReader("guid=g"))
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusAccepted {
		t.Errorf("an event: %s, %v", response.Status, err)
	}

	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		if !strings.Contains(lines.Text(), "stopped listening") && !strings.Contains(lines.Text(), "anyone may write") {
			t.Errorf("log line %s", lines.Text())
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	if code, _, errs := finish(t, at, "healthz"); code != 1 || !strings.Contains(errs, "connection refused") {
		t.Errorf("healthz of a producer that ended: exit %d, %s", code, errs)
	}
}

// TestASecondSignal: after the first signal a producer waits for requests in progress; a second signal ends it at once.
func TestASecondSignal(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "clicks", "visits", "dead-letters"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	cmd, addr, _, _ := start(t, []string{"FOOTFALL_KAFKA_BROKERS=" + cluster.ListenAddrs()[0], "FOOTFALL_HTTP_ADDR=127.0.0.1:0", "FOOTFALL_KAFKA_TIMEOUT=30s"})
	slow, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Close() }()
	if _, err := slow.Write([]byte("POST /v1/visits HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 99\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if answer, err := bufio.NewReader(slow).ReadString('\n'); err != nil || !strings.Contains(answer, "100 Continue") { // the producer reads the body now
		t.Fatal(answer, err)
	}
	for told := false; ; told = true { // until it no longer listens: it has got the first signal
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			break
		}
		_ = conn.Close()
		if !told {
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	again := time.Now()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if took := time.Since(again); !status.Signaled() || status.Signal() != syscall.SIGINT || took > 5*time.Second {
		t.Errorf("ended %v after the second signal: %v", took, cmd.ProcessState)
	}
}

// TestHealthzSeesKafka: `producer healthz` fails if the producer runs but cannot reach Kafka.
func TestHealthzSeesKafka(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "clicks", "visits", "dead-letters"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	cmd, _, admin, _ := start(t, []string{"FOOTFALL_KAFKA_BROKERS=" + cluster.ListenAddrs()[0], "FOOTFALL_HTTP_ADDR=127.0.0.1:0"})
	cluster.Close()
	code, _, errs := finish(t, []string{"FOOTFALL_HTTP_ADMIN_ADDR=" + admin}, "healthz")
	if code != 1 || !strings.Contains(errs, "kafka_unavailable") {
		t.Errorf("healthz without Kafka: exit %d, %s", code, errs)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGINT without Kafka: %v", err)
	}
}
