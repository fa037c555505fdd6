package rollup

import (
	"errors"

	"github.com/segmentio/kafka-go"

	"footfall/models"
)

// inspector turns the messages of one topic into items: an event, or the reason why it is none.
type inspector struct {
	decode     func([]byte) (models.Event, error)
	partitions []int // of the topic
	byID       bool  // its duplicates are told by their ids alone
}

func newInspector(decode func([]byte) (models.Event, error), partitions int) inspector {
	in := inspector{decode: decode}
	for p := range partitions {
		in.partitions = append(in.partitions, p)
	}
	return in
}

func decodeClick(data []byte) (models.Event, error) { return models.UnmarshalClick(data, false) }

func (in inspector) item(p models.Partition, m kafka.Message) item {
	it := item{partition: p, offset: m.Offset, at: m.Time, byID: in.byID, bytes: len(m.Key) + len(m.Value), highWater: m.HighWaterMark}
	event, err := in.event(m)
	if err != nil {
		invalid := &models.Invalid{Reason: models.ReasonBadJSON, Detail: err.Error()}
		_ = errors.As(err, &invalid)
		it.dead = &deadLetter{message: m, invalid: invalid}
		return it
	}
	if click, ok := event.(*models.Click); ok {
		click.UA = "" // the longest of its texts, and nothing counts it
	}
	it.event, it.value = event, m.Value
	return it
}

// refuse makes a dead letter of an item that was taken for an event.
func (it item) refuse(why *models.Invalid) *deadLetter {
	return &deadLetter{invalid: why, message: kafka.Message{
		Topic: it.partition.Topic, Partition: it.partition.Number, Offset: it.offset, Key: []byte(it.event.KafkaKey()), Value: it.value,
	}}
}

func (in inspector) event(m kafka.Message) (models.Event, error) {
	event, err := in.decode(m.Value)
	if err != nil {
		return nil, err
	}
	if err := event.Validate(); err != nil {
		return nil, err
	}
	return event, in.place(event, m)
}

// place checks that the event lies where its visitor's events are decided. In another partition it would be counted as a
// second visitor: librdkafka's default partitioner, for one, differs from Java's.
func (in inspector) place(event models.Event, m kafka.Message) error {
	if string(m.Key) != event.KafkaKey() {
		return &models.Invalid{Reason: models.ReasonWrongPartition, Detail: "the Kafka key is not the one of the event"}
	}
	if want := (kafka.Murmur2Balancer{Consistent: true}).Balance(m, in.partitions...); want != m.Partition {
		return &models.Invalid{Reason: models.ReasonWrongPartition, Detail: "the partition is not Murmur2 of the Kafka key"}
	}
	return nil
}
