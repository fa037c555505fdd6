package rollup

import (
	"errors"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/topics"
	"footfall/models"
)

// inspector turns the messages of one topic into items: an event, or the reason why it is none.
type inspector struct {
	decode     func([]byte) (models.Event, error)
	partitions []int // of the topic
	byID       bool  // its duplicates are told by their ids alone
	physical   []int // the partitions that it had in the end, if somebody added some; else nil
}

func newInspector(decode func([]byte) (models.Event, error), partitions int) inspector {
	return inspector{decode: decode, partitions: numbers(partitions)}
}

// numbers are those below n.
func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func decodeClick(data []byte) (models.Event, error) { return models.UnmarshalClick(data, false) }

func (in inspector) item(p models.Partition, m kafka.Message) item {
	it := item{partition: p, offset: m.Offset, at: m.Time, byID: in.byID, bytes: len(m.Key) + len(m.Value), highWater: m.HighWaterMark}
	event, err := in.event(m)
	if errors.Is(err, errCarried) || err != nil && noEvent(m) {
		return it
	}
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

// noEvent tells whether a message that cannot be read as an event was not meant as one: the probe of a seal, or what Kafka writes at the
// end of a transaction, which kafka-go hands on as a message: its key is a version and how it ended, its value a version and an epoch.
func noEvent(m kafka.Message) bool {
	marker := len(m.Key) == 4 && string(m.Key[:3]) == "\x00\x00\x00" && m.Key[3] <= 1 && len(m.Value) == 6 && string(m.Value[:2]) == "\x00\x00"
	return marker || string(m.Value) == topics.Probe
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
	if partitionOf(m.Key, in.partitions) == m.Partition {
		return nil
	}
	if in.physical != nil && partitionOf(m.Key, in.physical) == m.Partition {
		return errCarried
	}
	return &models.Invalid{Reason: models.ReasonWrongPartition, Detail: "the partition is not Murmur2 of the Kafka key"}
}

// errCarried: somebody gave the topic more partitions, and this event was placed by their number. It is not counted here: growing the topic
// writes it to the next generation.
var errCarried = errors.New("carried over to the next generation")

// partitionOf is the partition of a Kafka key, out of these.
func partitionOf(key []byte, partitions []int) int {
	return (kafka.Murmur2Balancer{Consistent: true}).Balance(kafka.Message{Key: key}, partitions...)
}
