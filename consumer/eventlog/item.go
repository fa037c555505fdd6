package eventlog

import (
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/store"
	"footfall/models"
)

// Item is one message as a fetcher hands it on: an event, a dead letter, or neither (a marker, or an event that is carried over).
type Item struct {
	Partition models.Partition
	Offset    int64
	Event     models.Event // nil if it cannot be counted
	Value     []byte       // the message's, in case the event becomes a dead letter later
	Dead      *DeadLetter  // nil if it is no dead letter
	At        time.Time    // the message's timestamp
	Bytes     int          // of key and value
	HighWater int64        // of the partition, when the message was fetched
	Warm      bool         // read to fill the duplicate window only; it is counted already
}

// Tail is the fingerprint of this item's message, with the offset after it; zero if there is none.
func (it *Item) Tail() store.Tail {
	switch {
	case it.Dead != nil:
		return store.Tail{Offset: it.Offset + 1, Sum: SumOf(it.Dead.Message.Key, it.Dead.Message.Value)}
	case it.Event != nil && it.Value != nil:
		return store.Tail{Offset: it.Offset + 1, Sum: SumOf([]byte(it.Event.KafkaKey()), it.Value)}
	}
	return store.Tail{}
}

// misplaced tells whether the item is a dead letter because it lies in the wrong partition.
func (it Item) misplaced() bool {
	return it.Dead != nil && !it.Warm && it.Dead.Invalid.Reason == models.ReasonWrongPartition
}

// DeadBecause makes a dead letter of an event.
func (it Item) DeadBecause(why *models.Invalid) *DeadLetter {
	return &DeadLetter{Invalid: why, Message: kafka.Message{
		Topic: it.Partition.Topic, Partition: it.Partition.Number, Offset: it.Offset, Key: []byte(it.Event.KafkaKey()), Value: it.Value,
	}}
}

// Counted is an event that is no duplicate, its position, and for each of its sightings whether it is the first.
type Counted struct {
	Partition models.Partition
	Offset    int64
	Event     models.Event
	First     []bool
}

// Position returns the event's position in the log.
func (e *Counted) Position() models.Position {
	return models.Position{Topic: e.Partition.Topic, Partition: e.Partition.Number, Offset: e.Offset}
}

// Decide sets First, given the position of the first event of each sighting.
func (e *Counted) Decide(first map[models.Sighting]models.Position) {
	e.First = e.First[:0]
	for _, s := range e.Event.Sightings() {
		e.First = append(e.First, first[s] == e.Position())
	}
}
