package models

import (
	"cmp"
	"time"
)

// Event is one click or one visit: what producers accept, what the topics carry, what consumers count. Implementations are plain values, safe
// for concurrent use as long as nobody changes their fields.
type Event interface {
	// EventID is the sender's id, or the one that the producer made.
	EventID() string

	// Time is the event's own time.
	Time() time.Time

	// Identity is what an event and its duplicates have in common.
	Identity() Identity

	// KafkaKey is the visitor within its link or site. Its Murmur2 hash is the partition, so one consumer decides about all of a visitor's
	// events.
	KafkaKey() string

	// Sightings are what is remembered of the visitor. A consumer looks up each, to learn whether this event is the first.
	Sightings() []Sighting

	// Count calls add with what the event adds to each cell. first has an element per sighting: true if this event is the first.
	Count(first []bool, add func(Key, Cell, int64))

	// Validate returns an *Invalid that names the reason why the event must not be counted, or nil.
	Validate() error
}

// Identity identifies an event: the same id of the same visitor of the same link or site is a duplicate. It is not one string, since
// different parts may join to the same Kafka key: "a|b" and "c", "a" and "b|c".
type Identity struct {
	Name    string // short_url or siteId
	Visitor string // ip or guid
	ID      string
}

// Keyspace is where a key and its visitors are stored. The names are those of the Cassandra keyspaces, without suffix.
type Keyspace string

// The two systems that footfall counts for.
const (
	URLShortener Keyspace = "urlshortener"
	Cardinality  Keyspace = "cardinality"
)

// Key is one Cassandra partition of counters: a short_url, or (siteId, month, features). All cells of a key and its
// ledger change in one atomic write.
type Key struct {
	Keyspace Keyspace
	Name     string   // short_url or siteId
	Month    Millis   // Cardinality only
	Features Features // Cardinality only
}

// LinkKey is the key of a link.
func LinkKey(link string) Key { return Key{Keyspace: URLShortener, Name: link} }

// SiteKey is the key of a site in a month, with a value for each feature of the plan, in the plan's order; empty stands for any. Values must not
// contain NUL.
func SiteKey(site string, month Millis, features ...string) Key {
	return Key{Cardinality, site, month, NewFeatures(features...)}
}

// Compare orders keys by keyspace, name, month and features.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Keyspace, o.Keyspace), cmp.Compare(k.Name, o.Name), cmp.Compare(k.Month, o.Month),
		cmp.Compare(k.Features, o.Features))
}

// Cell is one counter inside a key.
type Cell struct {
	// Counter is the table (URLShortener), or its column where a table has two; or the metric_type (Cardinality).
	Counter string
	// At is the start of the hour, day, week or month; zero where the counter has none.
	At Millis
	// Label is the country or the referrer; empty where the counter has none.
	Label string
}

// Sighting is one thing that is remembered of a visitor: an IP on a link, or a guid on a site in an interval under a
// combination of features.
type Sighting struct {
	Keyspace Keyspace
	Name     string   // short_url or siteId
	Visitor  string   // ip or guid
	Interval string   // Cardinality only: IntervalMonth, IntervalWeek or IntervalDay
	Start    Millis   // Cardinality only: the start of the interval
	Features Features // Cardinality only
}

// Partition is one partition of a Kafka topic.
type Partition struct {
	Topic  string
	Number int
}

// Compare orders partitions, by topic and number.
func (p Partition) Compare(o Partition) int {
	return cmp.Or(cmp.Compare(p.Topic, o.Topic), cmp.Compare(p.Number, o.Number))
}

// Position is where an event stands in the log. A visitor's row has the position of the visitor's first event, so a replay decides the same
// again. The topic is part of it: the next generation has the same partitions and offsets. The zero value is no position.
type Position struct {
	Topic     string
	Partition int
	Offset    int64
}
