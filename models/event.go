package models

import "cmp"

// Event is one click or one visit: what the door takes, what the topics carry, what the consumer counts.
// Implementations are plain values, safe for concurrent use once they are validated.
type Event interface {
	// EventID is the caller's id, or the one made at the door.
	EventID() string

	// Identity is what a duplicate has in common with the event that it repeats.
	Identity() Identity

	// KafkaKey names the visitor within its link or site. Its Murmur2 hash picks the partition, so that one visitor is
	// always decided by one consumer.
	KafkaKey() string

	// Sightings are the questions "was this visitor seen here before?", one for each row that remembers a visitor.
	Sightings() []Sighting

	// Count tells add what the event is worth, cell by cell. first answers Sightings, index by index: true where this
	// very event is the first.
	Count(first []bool, add func(Key, Cell, int64))

	// Validate returns an *Invalid that names the reason why the event must not be counted, or nil.
	Validate() error
}

// Identity names an event: the same id again of the same visitor of the same link or site is a duplicate. Its parts are apart, since
// two Kafka keys may be spelt alike: "a|b" and "c", "a" and "b|c".
type Identity struct {
	Name    string // short_url or siteId
	Visitor string // ip or guid
	ID      string
}

// Keyspace is where a key and its visitors live. The names are those of the Cassandra keyspaces.
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

// Compare orders keys, for those who have to do something for each in the same order each time.
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

// Sighting is one row that remembers a visitor: an IP on a link, or a guid on a site in an interval under a
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

// Position is where in the log an event stands. A visitor's row keeps the position of the event that was first, which
// makes first sight a fact of the log: a replay decides the same again. The topic is part of it: whoever goes on with
// another topic must not meet the same partition and offset there and take it for the first. The zero value is no position:
// every topic has a name.
type Position struct {
	Topic     string
	Partition int
	Offset    int64
}
