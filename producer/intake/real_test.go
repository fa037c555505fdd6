package intake_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/configs"
	"footfall/deployments/stack"
	"footfall/deployments/stack/stacktest"
)

// TestOnKafka runs every suite on real Kafka: those that kill or pause the broker on one of their own, the others on that of `make up`.
func TestOnKafka(t *testing.T) {
	t.Run("shared", func(t *testing.T) {
		t.Parallel()
		brokers, _, _ := stacktest.Require(t)
		for _, s := range suites {
			if !s.harms {
				t.Run(s.name, func(t *testing.T) { s.test(t, shared(brokers)) })
			}
		}
	})
	t.Run("private", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("starts a server: not with -short")
		}
		b := private{stacktest.Kafka(t)}
		for _, s := range suites {
			if s.harms {
				t.Run(s.name, func(t *testing.T) { s.test(t, b) })
			}
		}
	})
}

// private is a real broker that a test may kill and pause.
type private struct{ kafka *stack.Kafka }

func (p private) Addr() string { return p.kafka.Addr() }

func (p private) Start(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	must(t, p.kafka.Start(ctx))
}

// Pause returns when all threads of Kafka are stopped: right after the signal some may still answer.
func (p private) Pause(t testing.TB) {
	t.Helper()
	must(t, p.kafka.Pause())
	pid, err := p.kafka.PID()
	must(t, err)
	eventually(t, "all threads of Kafka stand still", 10*time.Second, func() bool { return still(t, pid) })
}

// still reports whether all threads of a process are stopped, if the system has /proc.
func still(t testing.TB, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	must(t, err)
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

func (p private) Kill(t testing.TB)   { t.Helper(); must(t, p.kafka.Kill()) }
func (p private) Resume(t testing.TB) { t.Helper(); must(t, p.kafka.Resume()) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shared is a broker that others use as well.
type shared string

func (s shared) Addr() string { return string(s) }

// forget deletes a test's topics.
func (s shared) forget(t testing.TB, names configs.Topics) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client := &kafka.Client{Addr: kafka.TCP(s.Addr())}
	response, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{names.Clicks, names.Visits, names.Dead}})
	must(t, err)
	for name, err := range response.Errors {
		if err != nil && !errors.Is(err, kafka.UnknownTopicOrPartition) { // a test may have deleted it
			t.Errorf("deleting topic %s: %v", name, err)
		}
	}
}

func (shared) Start(t testing.TB)  { t.Helper(); t.Fatal("this suite harms the broker: mark it so") }
func (shared) Kill(t testing.TB)   { t.Helper(); t.Fatal("this suite harms the broker: mark it so") }
func (shared) Pause(t testing.TB)  { t.Helper(); t.Fatal("this suite harms the broker: mark it so") }
func (shared) Resume(t testing.TB) { t.Helper(); t.Fatal("this suite harms the broker: mark it so") }
