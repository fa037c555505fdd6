package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/deployments/stack/stacktest"
	"footfall/test/e2e/broker"
	"footfall/test/e2e/load"
	"footfall/test/e2e/process"
	"footfall/test/harness"
)

var loadFor = flag.Duration("load.for", 8*time.Second, "how long wrk sends")

// TestLoad drives the producer, a process on real Kafka, with wrk: 200 connections that send as fast as they can and 200 slow ones. Every
// answer is 202, 429 or 503, memory does not grow with the events, and every event answered 202 is in the topic. `make load` runs it for
// 30 seconds.
func TestLoad(t *testing.T) {
	program := harness.NeedDebian(t, "wrk")
	const connections, slow = 200, 200
	kafkaAddress, _, _ := stacktest.Require(t)
	name := unique()
	d := broker.New(kafkaAddress, name, name+"-dead", name+"-clicks", name+"-visits")
	t.Cleanup(func() {
		if err := d.Remove(context.Background()); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	producer := start(t, process.Command{Name: "producer", Path: binaries.Path(t, "producer"), Dir: t.TempDir(), Env: []string{
		"FOOTFALL_HTTP_ADDR=127.0.0.1:0", "FOOTFALL_ACCESS_OPEN=true", "FOOTFALL_HTTP_TRUSTED_PROXIES=127.0.0.1",
		"FOOTFALL_LIMITS_CLIENT_PER_SECOND=5", "FOOTFALL_LIMITS_CLIENT_BURST=5", "FOOTFALL_KAFKA_BROKERS=" + kafkaAddress,
		"FOOTFALL_KAFKA_CREATE_TOPICS=true", "FOOTFALL_KAFKA_TOPICS_CLICKS=" + name + "-clicks",
		"FOOTFALL_KAFKA_TOPICS_VISITS=" + name + "-visits", "FOOTFALL_KAFKA_TOPICS_DEAD=" + name + "-dead"}})
	addr, err := producer.Expect(patiently(t), producerListening)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := producer.Expect(patiently(t), adminListening)
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), *loadFor+time.Minute)
	defer cancel()
	opened, ended := load.Slow(ctx, addr, slow)
	measured := make(chan []memory, 1)
	go func() { measured <- watchMemory(ctx, "http://"+admin) }()
	answers := t.TempDir()
	printed, err := exec.CommandContext(ctx, program, "--threads", "2", "--connections", strconv.Itoa(connections), "--duration",
		fmt.Sprintf("%ds", int(loadFor.Seconds())), "--timeout", "30s", "--latency", "--script", filepath.Join("wrk", "visits.lua"),
		"http://"+addr, "--", answers).CombinedOutput()
	cancel()
	ended()
	t.Logf("%s", printed)
	if err != nil || strings.Contains(string(printed), "Socket errors") {
		t.Errorf("wrk: %v", err)
	}

	statuses, accepted := readAnswers(t, answers)
	t.Logf("answers by status: %v; %d slow connections were opened", statuses, opened.Load())
	for status := range statuses {
		if !slices.Contains([]string{"202", "429", "503"}, status) {
			t.Errorf("%d answers have status %s", statuses[status], status)
		}
	}
	if len(accepted) < 1000 || statuses["429"] == 0 || opened.Load() < slow {
		t.Errorf("%d events accepted, %d answered 429, %d slow connections: too little load", len(accepted), statuses["429"], opened.Load())
	}
	if line, err := flat(<-measured); err != nil {
		t.Errorf("%s: %v", line, err)
	} else {
		t.Log(line)
	}

	written := map[string]bool{}
	ends, err := d.Ends(t.Context(), d.Topics[1])
	if err != nil {
		t.Fatal(err)
	}
	for p, end := range ends {
		if err := d.Read(t.Context(), p, end, func(m kafka.Message) error {
			var event struct{ ID string }
			err := json.Unmarshal(m.Value, &event)
			written[event.ID] = true
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	missing := 0
	for _, id := range accepted {
		if !written[id] {
			missing++
		}
	}
	t.Logf("%d answered 202, %d of them not in the topic, which has %d", len(accepted), missing, len(written))
	if missing > 0 {
		t.Errorf("%d events were answered with 202 and are not in the topic", missing)
	}
}

// readAnswers reads what wrk/visits.lua wrote: how many answers had which status, and the ids of those with 202.
func readAnswers(t *testing.T, dir string) (statuses map[string]int, accepted []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "answers-*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no answers: %v", err)
	}
	statuses = map[string]int{}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }() // only read
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			status, id, ok := strings.Cut(lines.Text(), " ")
			if !ok || id == "" {
				continue // the last line, cut short
			}
			statuses[status]++
			if status == "202" {
				accepted = append(accepted, id)
			}
		}
	}
	return statuses, accepted
}
