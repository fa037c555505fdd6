package eventlog

import (
	"errors"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/models"
)

// What an item holds takes its bytes from the room. Headers are in no dead letter, so they are not held until it is written.
func TestItemsHoldNoHeaders(t *testing.T) {
	m := kafka.Message{Topic: "clicks", Key: []byte("k"), Value: []byte("{"), Headers: []kafka.Header{{Key: "h", Value: make([]byte, 1_000_000)}}}
	it := NewInspector(models.DefaultPlan().DecodeClick, 1).item(models.Partition{Topic: "clicks"}, m)
	if it.Dead == nil || len(it.Dead.Message.Headers) != 0 || it.Bytes != len("k{") {
		t.Errorf("got %+v with %d bytes; want a dead letter without headers, and the bytes of key and value", it.Dead, it.Bytes)
	}
}

// An event counts in its visitor's partition only: in another one the visitor would be counted twice. If somebody added partitions to a topic, the events
// that were placed by their new number are carried over when it grows.
func TestEventsInTheWrongPartition(t *testing.T) {
	e := click(1)
	value, err := models.AppendEvent(nil, e)
	if err != nil {
		t.Fatal(err)
	}
	key := []byte(e.KafkaKey())
	in := NewInspector(models.DefaultPlan().DecodeClick, 2)
	f := func(key []byte, partition int, reason string, carried bool) {
		t.Helper()
		m := kafka.Message{Topic: "clicks", Partition: partition, Key: key, Value: value, Time: time.Now()}
		_, err := in.Event(m)
		got := ""
		if why := (*models.Invalid)(nil); errors.As(err, &why) {
			got = why.Reason
		}
		if got != reason || errors.Is(err, ErrCarried) != carried {
			t.Errorf("key %s in partition %d: %v, want %q, carried %v", key, partition, err, reason, carried)
		}
	}
	right := PartitionOf(key, in.Partitions)
	f(key, right, "", false)
	f(key, 1-right, models.ReasonWrongPartition, false)
	f([]byte("link2|192.0.2.0"), right, models.ReasonWrongPartition, false)
	f(nil, right, models.ReasonWrongPartition, false)
	in.physical = PartitionNumbers(7)
	f(key, right, "", false)
	f(key, PartitionOf(key, in.physical), "", PartitionOf(key, in.physical) != right)
}
