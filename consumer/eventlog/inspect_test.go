package eventlog

import (
	"testing"

	"github.com/segmentio/kafka-go"

	"footfall/models"
)

// What an item holds takes its bytes from the room. Headers are in no dead letter, so they are not held until it is written.
func TestItemsHoldNoHeaders(t *testing.T) {
	m := kafka.Message{Topic: "clicks", Key: []byte("k"), Value: []byte("{"), Headers: []kafka.Header{{Key: "h", Value: make([]byte, 1_000_000)}}}
	it := NewInspector(decodeClick, 1).item(models.Partition{Topic: "clicks"}, m)
	if it.Dead == nil || len(it.Dead.Message.Headers) != 0 || it.Bytes != len("k{") {
		t.Errorf("got %+v with %d bytes; want a dead letter without headers, and the bytes of key and value", it.Dead, it.Bytes)
	}
}
