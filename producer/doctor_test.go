package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"footfall/internal/doctor"
	"footfall/test/harness"
)

// The doctor of a running producer finds nothing, and names each fault first.
func TestDoctor(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "clicks", "visits", "dead-letters"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	env := []string{"FOOTFALL_KAFKA_BROKERS=" + strings.Join(cluster.ListenAddrs(), ","), "FOOTFALL_ACCESS_OPEN=false",
		`FOOTFALL_ACCESS_SITES=[{"site":"shop","key_hashes":["` + strings.Repeat("ab", 32) + `"]}]`}
	cmd, addr, admin, _ := start(t, append(env, "FOOTFALL_HTTP_ADDR=127.0.0.1:0"))
	env = append(env, "FOOTFALL_HTTP_ADDR="+addr, "FOOTFALL_HTTP_ADMIN_ADDR="+admin)

	f := func(wantCode int, want string, change ...string) {
		t.Helper()
		code, out, errs := finish(t, append(env[:len(env):len(env)], change...), "doctor", "--json")
		var report doctor.Report
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%v: %s%s", err, out, errs)
		}
		first := report.Findings[0]
		got := fmt.Sprintf("%s %s: %s", first.Severity, first.Check, first.What)
		if code != wantCode || !strings.HasPrefix(got, want) || errs != "" || first.Severity != doctor.OK && first.Remedy == "" {
			t.Errorf("%q: exit %d and %q, want %d and %q\n%s", change, code, got, wantCode, want, errs)
		}
		t.Logf("%.1f s: %s (%s)", report.Seconds, got, first.Remedy)
	}
	f(0, "ok configuration")
	f(0, "warning keys: anyone who reaches", "FOOTFALL_ACCESS_OPEN=true", "FOOTFALL_ACCESS_SITES=[]")
	f(1, "fault keys: nobody may write", "FOOTFALL_ACCESS_SITES=[]")
	f(1, "fault configuration: checking the configuration: http.max_body", "FOOTFALL_HTTP_MAX_BODY=0")
	f(1, "fault topics: topic pages does not exist", "FOOTFALL_KAFKA_TOPICS_VISITS=pages")
	f(1, "fault kafka: Kafka at 127.0.0.1:1 does not answer", "FOOTFALL_KAFKA_BROKERS=127.0.0.1:1")
	f(1, "fault links: connecting to Cassandra", "FOOTFALL_LINKS_ENABLED=true", "FOOTFALL_CASSANDRA_PORT=1")
	f(1, "fault listener: the producer does not answer at http.addr", "FOOTFALL_HTTP_ADDR=127.0.0.1:1")
	f(1, "fault ready: the producer at http.admin_addr is not ready", "FOOTFALL_HTTP_ADMIN_ADDR="+harness.FreeAddr(t))

	code, out, _ := finish(t, env, "doctor")
	if code != 0 || !strings.Contains(out, "healthy (") || strings.Contains(out, "not healthy") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}
