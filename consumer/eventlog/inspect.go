package eventlog

import (
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/topics"
	"footfall/models"
)

// Inspector turns the messages of one topic into items: an event, or a dead letter. Safe for concurrent use.
type Inspector struct {
	decode     func([]byte) (models.Event, error)
	Partitions []int // those that the topic is counted with
	physical   []int // all partitions of a sealed topic, including those that somebody added; nil if it is not sealed
}

// NewInspector makes an inspector for a topic that is counted with that many partitions.
func NewInspector(decode func([]byte) (models.Event, error), partitions int) Inspector {
	return Inspector{decode: decode, Partitions: PartitionNumbers(partitions)}
}

// PartitionNumbers lists the numbers from 0 to n-1.
func PartitionNumbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func (in Inspector) item(p models.Partition, m kafka.Message) Item {
	it := Item{Partition: p, Offset: m.Offset, At: m.Time, Bytes: len(m.Key) + len(m.Value), HighWater: m.HighWaterMark}
	event, err := in.Event(m)
	if errors.Is(err, ErrCarried) || err != nil && NoEvent(m) {
		return it
	}
	if err != nil {
		invalid := &models.Invalid{Reason: models.ReasonBadJSON, Detail: err.Error()}
		_ = errors.As(err, &invalid)
		m.Headers = nil // no dead letter has them, and Bytes does not count them
		it.Dead = &DeadLetter{Message: m, Invalid: invalid}
		return it
	}
	if click, ok := event.(*models.Click); ok {
		click.UA = "" // saves memory: nothing counts it
	}
	it.Event, it.Value = event, m.Value
	return it
}

// NoEvent tells whether a message was never meant as an event: the probe of a seal, or a transaction marker. kafka-go hands markers on as
// messages: the key is a version and the outcome, the value a version and an epoch.
func NoEvent(m kafka.Message) bool {
	marker := len(m.Key) == 4 && string(m.Key[:3]) == "\x00\x00\x00" && m.Key[3] <= 1 && len(m.Value) == 6 && string(m.Value[:2]) == "\x00\x00"
	return marker || string(m.Value) == topics.Probe
}

// Event reads the event of a message. The error is a *models.Invalid, ErrCarried, or one of the JSON decoder.
func (in Inspector) Event(m kafka.Message) (models.Event, error) {
	event, err := in.decode(m.Value)
	if err != nil {
		return nil, err
	}
	if err := event.Validate(); err != nil {
		return nil, err
	}
	if err := in.place(event, m); err != nil {
		return event, err
	}
	return event, refuseFarAhead(event, m)
}

// refuseFarAhead returns why the event of a message is too far ahead of its Kafka time, or nil: visitors of a month that is far away would never
// be retired. A message without a time is not bounded.
func refuseFarAhead(e models.Event, m kafka.Message) error {
	if !m.Time.IsZero() && e.Time().Sub(m.Time) > models.MaxAhead {
		return &models.Invalid{Reason: models.ReasonTimestampInFuture, Detail: fmt.Sprintf("more than %v ahead of the message's Kafka time", models.MaxAhead)}
	}
	return nil
}

// place checks that the event is in its visitor's partition: elsewhere the visitor would be counted twice. librdkafka's default
// partitioner, for one, differs from Java's.
func (in Inspector) place(event models.Event, m kafka.Message) error {
	if string(m.Key) != event.KafkaKey() {
		return &models.Invalid{Reason: models.ReasonWrongPartition, Detail: "the Kafka key is not the one of the event"}
	}
	if PartitionOf(m.Key, in.Partitions) == m.Partition {
		return nil
	}
	if in.physical != nil && PartitionOf(m.Key, in.physical) == m.Partition {
		return ErrCarried
	}
	return &models.Invalid{Reason: models.ReasonWrongPartition, Detail: "the partition is not Murmur2 of the Kafka key"}
}

// ErrCarried says that somebody added partitions to the topic, and the producer placed this event by their new number. It is not counted
// here: consumer grow copies it to the next generation.
var ErrCarried = errors.New("carried over to the next generation")

// PartitionOf returns the partition of a Kafka key among these: Murmur2, as Java's default partitioner has it.
func PartitionOf(key []byte, partitions []int) int {
	return (kafka.Murmur2Balancer{Consistent: true}).Balance(kafka.Message{Key: key}, partitions...)
}
