package topics_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"

	"footfall/deployments/stack/stacktest"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
)

// Topics are created and read on a real broker: kfake only imitates its answers.
func TestOnKafka(t *testing.T) {
	addr, _, _ := stacktest.Require(t)
	brokers, run := []string{addr}, "-"+uuid.NewString()[:8]
	mine := []string{"clicks" + run, "visits" + run, "dead" + run}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		client := &kafka.Client{Addr: kafka.TCP(addr)}
		if _, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: mine}); err != nil {
			t.Error(err)
		}
	})

	if err := topics.Ensure(t.Context(), dial.Plain(brokers...), mine, 3, -1, false); !errors.Is(err, topics.ErrMissing) {
		t.Fatalf("Ensure without create = %v", err)
	}
	if err := topics.Ensure(t.Context(), dial.Plain(brokers...), mine, 0, -1, true); !errors.Is(err, kafka.InvalidPartitionNumber) {
		t.Errorf("Ensure with 0 partitions = %v", err)
	}
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			if err := topics.Ensure(t.Context(), dial.Plain(brokers...), mine, 3, -1, true); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, name := range mine {
		wantPartitions(t, brokers, name, 3)
	}
	if err := topics.Check(t.Context(), dial.Plain(brokers...), mine); err != nil {
		t.Errorf("Check = %v", err)
	}
	if err := topics.Ensure(t.Context(), dial.Plain(brokers...), mine, 7, -1, false); err != nil {
		t.Errorf("Ensure on existing topics = %v", err)
	}

	config, err := topics.Config(t.Context(), dial.Plain(brokers...), mine[0], "cleanup.policy", "retention.ms", "retention.bytes")
	want := map[string]string{"cleanup.policy": "delete", "retention.ms": "604800000", "retention.bytes": "-1"}
	if err != nil || !maps.Equal(config, want) {
		t.Errorf("Config = %v, %v; want %v", config, err, want)
	}

	compacted := "compacted" + run
	mine = append(mine, compacted)
	for range 2 {
		if err := topics.EnsureCompacted(t.Context(), dial.Plain(brokers...), compacted, mine[0]); err != nil {
			t.Fatal(err)
		}
	}
	wantPartitions(t, brokers, compacted, 1)
	config, err = topics.Config(t.Context(), dial.Plain(brokers...), compacted, "cleanup.policy")
	if err != nil || config["cleanup.policy"] != "compact" {
		t.Errorf("Config = %v, %v", config, err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := topics.Ensure(ctx, dial.Plain(brokers...), []string{"too-many" + run}, 1, 9, true); !errors.Is(err, kafka.InvalidReplicationFactor) {
		t.Errorf("Ensure with more replicas than brokers = %v", err)
	}
}
