package intake

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"math/bits"
	"sync"
	"time"

	"footfall/models"
)

const (
	// maxGroup bounds the bytes of a group. Brokers take 1 MiB unless they are told otherwise.
	maxGroup = 900_000

	// keptGroup and keptText are the largest whose memory is used again: one large batch must not make all others large for ever.
	keptGroup, keptText = 256 << 10, 1 << 20

	// recordOverhead is the most that an event's record has besides its key and value.
	recordOverhead = 32
)

// Where things are in a group's bytes: the length of all that follows, then Kafka's record batch, version 2.
const (
	atLength      = 8 + 4 // of what follows it
	atEpoch       = atLength + 4
	atMagic       = atEpoch + 4
	atSum         = atMagic + 1
	atAttributes  = atSum + 4 // the sum is of what begins here
	atLastOffset  = atAttributes + 2
	atFirstTime   = atLastOffset + 4
	atMaxTime     = atFirstTime + 8
	atProducer    = atMaxTime + 8
	atCount       = atProducer + 8 + 2 + 4
	beforeRecords = atCount + 4
)

// group is events of one partition that are written in one piece: all of them or none.
type group struct {
	lane    *lane
	bytes   []byte  // as Kafka wants them, once they are sealed
	entries []entry // one for each event
	newest  time.Time
	tried   bool // it was sent before, and takes no more events
	looked  bool // Kafka refused it for its size, and no newer generation of its topic was found
}

// entry says whose event it is.
type entry struct {
	of    *delivery
	index int
}

var (
	groups     = sync.Pool{New: func() any { return &group{} }}
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	noProducer = [8 + 2 + 4]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff} // id, epoch, sequence: -1
)

func newGroup(of *lane) *group {
	g := groups.Get().(*group)
	g.lane, g.entries, g.tried, g.looked, g.newest = of, g.entries[:0], false, false, time.Time{}
	g.bytes = append(g.bytes[:0], make([]byte, beforeRecords)...)
	copy(g.bytes[atEpoch:], noProducer[:4])
	g.bytes[atMagic] = 2
	copy(g.bytes[atProducer:], noProducer[:])
	return g
}

// reuse is for a group that nobody looks at any more.
func (g *group) reuse() {
	clear(g.entries)
	if cap(g.bytes) <= keptGroup {
		groups.Put(g)
	}
}

// add appends an event as a record. All records have the time of the whole.
func (g *group) add(key, value []byte, whose entry, now time.Time) {
	offset := len(g.entries)
	size := 1 + 1 + varintSize(offset) + varintSize(len(key)) + len(key) + varintSize(len(value)) + len(value) + 1
	b := binary.AppendVarint(g.bytes, int64(size))
	b = append(b, 0, 0) // attributes, and the time after the first
	b = binary.AppendVarint(b, int64(offset))
	b = append(binary.AppendVarint(b, int64(len(key))), key...)
	b = append(binary.AppendVarint(b, int64(len(value))), value...)
	g.bytes = append(b, 0) // no headers
	g.entries = append(g.entries, whose)
	if now.After(g.newest) { // events that were moved from another generation are older than those that came meanwhile
		g.newest = now
	}
}

// records are the events as they were added, in their order: key and value.
func (g *group) records() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for b := g.bytes[beforeRecords:]; len(b) > 0; {
			size, n := binary.Varint(b)
			record := b[n : n+int(size)]
			b = b[n+int(size):]
			record = record[2:] // attributes, and the time after the first
			_, n = binary.Varint(record)
			key, rest := field(record[n:])
			value, _ := field(rest)
			if !yield(key, value) {
				return
			}
		}
	}
}

// field takes bytes apart that begin with the length of a first part.
func field(b []byte) (first, rest []byte) {
	size, n := binary.Varint(b)
	return b[n : n+int(size)], b[n+int(size):]
}

// varintSize is how many bytes a length takes.
func varintSize(n int) int { return (bits.Len64(uint64(n)<<1|1) + 6) / 7 }

// seal fills in what depends on all records and on the moment. The record's own time is that of writing: Kafka deletes by
// it, and an event may be years old.
func (g *group) seal(now time.Time) {
	b, put32, put64 := g.bytes, binary.BigEndian.PutUint32, binary.BigEndian.PutUint64
	put32(b, uint32(len(b)-4))
	put32(b[atLength:], uint32(len(b)-atEpoch))
	put32(b[atLastOffset:], uint32(len(g.entries)-1))
	put64(b[atFirstTime:], uint64(now.UnixMilli()))
	put64(b[atMaxTime:], uint64(now.UnixMilli()))
	put32(b[atCount:], uint32(len(g.entries)))
	put32(b[atSum:], crc32.Checksum(b[atAttributes:], castagnoli))
}

// encoded is events as they go to Kafka, one after the other, so that nothing has to be encoded while others wait.
type encoded struct {
	bytes  []byte
	events []span
}

// span is where an event is: its key, its value, and what comes after it.
type span struct{ key, value, end int }

var texts = sync.Pool{New: func() any { return &encoded{} }}

// encode says in outcomes which events cannot be.
func encode(events []models.Event, outcomes []error) *encoded {
	t := texts.Get().(*encoded)
	t.bytes, t.events = t.bytes[:0], t.events[:0]
	for i, event := range events {
		e := span{key: len(t.bytes)}
		t.bytes = append(t.bytes, event.KafkaKey()...)
		e.value = len(t.bytes)
		var err error
		if t.bytes, err = models.AppendEvent(t.bytes, event); err != nil {
			outcomes[i] = fmt.Errorf("encoding the event: %w", err)
		}
		e.end = len(t.bytes)
		t.events = append(t.events, e)
	}
	return t
}

// reuse is for when the events have been copied: nobody may wait for Kafka with so much memory.
func (t *encoded) reuse() {
	if cap(t.bytes) <= keptText {
		texts.Put(t)
	}
}

func (t *encoded) of(e span) (key, value []byte) {
	return t.bytes[e.key:e.value], t.bytes[e.value:e.end]
}
