package intake_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
)

// ends are the end offsets of all partitions of a topic.
func ends(t *testing.T, broker, topic string) []int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	n, err := topics.Partitions(ctx, dial.Plain(broker), topic)
	if err != nil {
		t.Fatal(err)
	}
	var offsets []int64
	for p := range n {
		last, err := end(ctx, broker, topic, p)
		for errors.Is(err, kafka.NotLeaderForPartition) && ctx.Err() == nil { // a topic that was just created
			last, err = end(ctx, broker, topic, p)
		}
		if err != nil {
			t.Fatal(err)
		}
		offsets = append(offsets, last)
	}
	return offsets
}

func end(ctx context.Context, broker, topic string, partition int) (int64, error) {
	conn, err := kafka.DialLeader(ctx, "tcp", broker, topic, partition)
	if err != nil {
		return 0, err
	}
	last, err := conn.ReadLastOffset()
	return last, errors.Join(err, conn.Close())
}

// messages reads a topic from its beginning to its current end, partition by partition.
func messages(t *testing.T, broker, topic string) []kafka.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var all []kafka.Message
	for p, end := range ends(t, broker, topic) {
		reader := kafka.NewReader(kafka.ReaderConfig{
			Brokers: []string{broker}, Topic: topic, Partition: p, MinBytes: 1, MaxBytes: 10 << 20, MaxWait: 50 * time.Millisecond,
		})
		for next := int64(0); next < end; {
			m, err := reader.ReadMessage(ctx)
			if err != nil {
				t.Fatalf("reading %s/%d at %d: %v", topic, p, next, err)
			}
			all = append(all, m)
			next = m.Offset + 1
		}
		if err := reader.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// ids counts the events of a topic by their id.
func ids(t *testing.T, broker, topic string) map[string]int {
	t.Helper()
	count := map[string]int{}
	for _, m := range messages(t, broker, topic) {
		var event struct{ ID string }
		if err := json.Unmarshal(m.Value, &event); err != nil {
			t.Fatalf("a message that is no event: %q: %v", m.Value, err)
		}
		count[event.ID]++
	}
	return count
}
