package eventlog

import (
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/store"
	"footfall/models"
)

// Item is one message as a fetcher hands it on: an event, or the reason why it is none.
type Item struct {
	Partition models.Partition
	Offset    int64
	Event     models.Event // nil if it cannot be counted
	Value     []byte       // of the message, should it turn out that it must not be counted
	Dead      *DeadLetter  // set if it cannot be counted
	At        time.Time    // the message's time in the log
	Bytes     int
	HighWater int64
	ByID      bool // the topic's duplicates are told by their ids alone
	Warm      bool // read for the duplicate window only; an earlier chunk has counted it
}

// Identity is what a duplicate has in common with the event that it repeats, by the rule of its topic. Item must be an event.
func (it Item) Identity() models.Identity {
	if it.ByID {
		return models.Identity{ID: it.Event.EventID()}
	}
	return it.Event.Identity()
}

// Tail is what the log has to have before the offset after this item.
func (it *Item) Tail() store.Tail {
	switch {
	case it.Dead != nil:
		return store.Tail{Offset: it.Offset + 1, Sum: SumOf(it.Dead.Message.Key, it.Dead.Message.Value)}
	case it.Event != nil && it.Value != nil:
		return store.Tail{Offset: it.Offset + 1, Sum: SumOf([]byte(it.Event.KafkaKey()), it.Value)}
	}
	return store.Tail{}
}

// misplaced tells of a message that lies in another partition than it should.
func (it Item) misplaced() bool {
	return it.Dead != nil && !it.Warm && it.Dead.Invalid.Reason == models.ReasonWrongPartition
}

// DeadBecause makes a dead letter of an item that was taken for an event.
func (it Item) DeadBecause(why *models.Invalid) *DeadLetter {
	return &DeadLetter{Invalid: why, Message: kafka.Message{
		Topic: it.Partition.Topic, Partition: it.Partition.Number, Offset: it.Offset, Key: []byte(it.Event.KafkaKey()), Value: it.Value,
	}}
}

// Counted is an event that is no duplicate, where it stands, and which of its sightings it is the first of.
type Counted struct {
	Partition models.Partition
	Offset    int64
	Event     models.Event
	First     []bool
}

// Position is where in the log the event stands.
func (e *Counted) Position() models.Position {
	return models.Position{Topic: e.Partition.Topic, Partition: e.Partition.Number, Offset: e.Offset}
}

// Decide answers the event's sightings from where each visitor was first.
func (e *Counted) Decide(first map[models.Sighting]models.Position) {
	e.First = e.First[:0]
	for _, s := range e.Event.Sightings() {
		e.First = append(e.First, first[s] == e.Position())
	}
}
