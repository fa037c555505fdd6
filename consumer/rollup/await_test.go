package rollup

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/consumer/store"
	"footfall/internal/await"
	"footfall/test/harness"
)

// contended is a store whose first settings time out, as when several consumers start at once.
type contended struct {
	store.RetireStore
	left atomic.Int32
}

func (c *contended) Setting(ctx context.Context, name, value string) (string, error) {
	if c.left.Add(-1) >= 0 {
		return "", errors.New("recording setting \"" + name + "\": Operation timed out - received only 0 responses.")
	}
	return c.RetireStore.Setting(ctx, name, value)
}

// A consumer that is to wait goes on when transactions no longer time out, and when the topics are there. Another one ends.
func TestAwait(t *testing.T) {
	b := newBench(t, 2)
	b.cfg.Kafka.Topics.Visits = "late"
	slow := &contended{RetireStore: b.store}
	b.store = slow
	slow.left.Store(3)
	b.refused(t, "Operation timed out")
	slow.left.Store(0)
	b.refused(t, "late: topic does not exist")

	slow.left.Store(3)
	log := &harness.Buffer{}
	c, err := New(b.cfg, b.store, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	waiting := await.New(c.Logger)
	c.Await(waiting)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	until := func(what string, try func() error) {
		t.Helper()
		harness.Within(t, patience, what, func() error {
			select {
			case err := <-ended:
				t.Fatalf("it ended: %v", err)
			default:
			}
			return try()
		})
	}
	until("it waits for the topic", func() error {
		if err := waiting.Check(); err == nil || !strings.Contains(err.Error(), "late: topic does not exist") {
			return errors.Join(errors.New("it says"), err)
		}
		return nil
	})
	if !strings.Contains(log.String(), "Operation timed out") {
		t.Errorf("it does not say that a transaction timed out: %s", log)
	}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "late", NumPartitions: 2, ReplicationFactor: 1}}
	ask(t, b, create)
	until("it counts", c.Ready)
	if err := waiting.Check(); err != nil {
		t.Errorf("it still waits: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}

	// What waiting cannot mend ends it.
	b.cfg.Duplicates.Window++
	if c, err = New(b.cfg, b.store, prometheus.NewRegistry(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	c.Await(waiting)
	if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "duplicates.window") {
		t.Errorf("another window: %v", err)
	}
}
