package eventlog

import (
	"errors"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/topics"
	"footfall/models"
)

// Inspector turns the messages of one topic into items: an event, or the reason why it is none.
type Inspector struct {
	decode     func([]byte) (models.Event, error)
	Partitions []int // of the topic
	byID       bool  // its duplicates are told by their ids alone
	physical   []int // the partitions that it had in the end, if somebody added some; else nil
}

// NewInspector makes one for a topic that is counted with so many partitions.
func NewInspector(decode func([]byte) (models.Event, error), partitions int) Inspector {
	return Inspector{decode: decode, Partitions: PartitionNumbers(partitions)}
}

// PartitionNumbers are those below n.
func PartitionNumbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// decodeClick reads a click from a message.
func decodeClick(data []byte) (models.Event, error) { return models.UnmarshalClick(data, false) }

func (in Inspector) item(p models.Partition, m kafka.Message) Item {
	it := Item{Partition: p, Offset: m.Offset, At: m.Time, ByID: in.byID, Bytes: len(m.Key) + len(m.Value), HighWater: m.HighWaterMark}
	event, err := in.Event(m)
	if errors.Is(err, ErrCarried) || err != nil && NoEvent(m) {
		return it
	}
	if err != nil {
		invalid := &models.Invalid{Reason: models.ReasonBadJSON, Detail: err.Error()}
		_ = errors.As(err, &invalid)
		it.Dead = &DeadLetter{Message: m, Invalid: invalid}
		return it
	}
	if click, ok := event.(*models.Click); ok {
		click.UA = "" // the longest of its texts, and nothing counts it
	}
	it.Event, it.Value = event, m.Value
	return it
}

// NoEvent tells whether a message that cannot be read as an event was not meant as one: the probe of a seal, or what Kafka writes at the
// end of a transaction, which kafka-go hands on as a message: its key is a version and how it ended, its value a version and an epoch.
func NoEvent(m kafka.Message) bool {
	marker := len(m.Key) == 4 && string(m.Key[:3]) == "\x00\x00\x00" && m.Key[3] <= 1 && len(m.Value) == 6 && string(m.Value[:2]) == "\x00\x00"
	return marker || string(m.Value) == topics.Probe
}

// Event reads the event of a message. An error is a *models.Invalid, ErrCarried, or one of the JSON.
func (in Inspector) Event(m kafka.Message) (models.Event, error) {
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

// ErrCarried says that somebody gave the topic more partitions, and this event was placed by their number. It is not counted here: growing the topic
// writes it to the next generation.
var ErrCarried = errors.New("carried over to the next generation")

// PartitionOf is the partition of a Kafka key, out of these.
func PartitionOf(key []byte, partitions []int) int {
	return (kafka.Murmur2Balancer{Consistent: true}).Balance(kafka.Message{Key: key}, partitions...)
}
