package publisher

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/models"
)

// partitionQueue holds what waits for one partition, in the order of arrival. doc.go explains its states. It is guarded by
// state.mu.
type partitionQueue struct {
	base      string // the topic's base name
	topic     string // its generation
	partition int32
	leader    *broker        // as far as known; &state.nobody if the partition has none
	batches   []*recordBatch // that wait, the oldest first
	busy      bool           // a batch is in flight or parked, or a backoff is not over
	failures  int            // in a row
	maxBatch  int            // bytes of a batch
}

// add appends an event, to the last batch if it has room. It returns true if the queue has become ready by that.
func (q *partitionQueue) add(key, value []byte, event eventRef) bool {
	wasIdle := len(q.batches) == 0 && !q.busy
	last := (*recordBatch)(nil)
	if n := len(q.batches); n > 0 {
		last = q.batches[n-1]
	}
	if last == nil || last.sealed || len(last.bytes)+len(key)+len(value)+recordOverhead > q.maxBatch {
		last = newRecordBatch(q)
		q.batches = append(q.batches, last)
	}
	last.add(key, value, event)
	return wasIdle
}

// take removes the first batch to be sent, and makes the queue busy.
func (q *partitionQueue) take() *recordBatch {
	b := q.batches[0]
	q.batches = slices.Delete(q.batches, 0, 1)
	if !b.sealed { // a retried batch keeps its bytes: an abandoned request may still read them
		b.seal(time.Now())
	}
	q.busy = true
	return b
}

// partitioner picks the partition of an event as Java clients do: Murmur2 of the key, over the partitions that a generation had
// when the producer began to write to it. The number stays fixed for as long as the process runs, because one visitor must
// stay in one partition. So partitions that are added later are not used, and a broker that for a moment reports fewer moves
// nobody.
type partitioner map[string][]int // partition numbers by generation

// Balance implements kafka.Balancer.
func (p partitioner) Balance(m kafka.Message, _ ...int) int {
	return kafka.Murmur2Balancer{Consistent: true}.Balance(m, p[m.Topic]...)
}

const (
	// maxBatch bounds the bytes of a record batch. Brokers take 1 MiB unless they are configured otherwise.
	maxBatch = 900_000

	// pooledBatch and pooledText are the largest buffers that go back to their pool. Otherwise one large request would make
	// every pooled buffer large for ever.
	pooledBatch, pooledText = 256 << 10, 1 << 20

	// recordOverhead is the most bytes that a record has besides its key and value.
	recordOverhead = 32
)

// Offsets in the bytes of a batch: 4 bytes for the length of what follows, then Kafka's record batch, version 2.
const (
	atLength      = 4 + 8 // after the length and the base offset
	atEpoch       = atLength + 4
	atMagic       = atEpoch + 4
	atSum         = atMagic + 1
	atAttributes  = atSum + 4 // the checksum covers everything from here on
	atLastOffset  = atAttributes + 2
	atFirstTime   = atLastOffset + 4
	atMaxTime     = atFirstTime + 8
	atProducer    = atMaxTime + 8
	atCount       = atProducer + 8 + 2 + 4
	beforeRecords = atCount + 4
)

// recordBatch is events of one partition that Kafka writes all or not at all. doc.go explains its states.
type recordBatch struct {
	queue    *partitionQueue
	bytes    []byte     // as Kafka wants them, once the batch is sealed
	events   []eventRef // one for each record
	newest   time.Time  // when the newest event arrived
	sealed   bool       // it was sent at least once, and takes no more events
	tooLarge bool       // it was parked, and its topic has no newer generation: Kafka means its size
}

// eventRef points to the event's outcome.
type eventRef struct {
	of    *Delivery
	index int
	slots int // that it holds
}

var (
	batchPool  = sync.Pool{New: func() any { return &recordBatch{} }}
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	noProducer = [8 + 2 + 4]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff} // id, epoch, sequence: -1
)

func newRecordBatch(of *partitionQueue) *recordBatch {
	b := batchPool.Get().(*recordBatch)
	b.queue, b.events, b.sealed, b.tooLarge, b.newest = of, b.events[:0], false, false, time.Time{}
	b.bytes = append(b.bytes[:0], make([]byte, beforeRecords)...)
	copy(b.bytes[atEpoch:], noProducer[:4])
	b.bytes[atMagic] = 2
	copy(b.bytes[atProducer:], noProducer[:])
	return b
}

// reuse returns a batch to the pool. Nobody may read it any more.
func (b *recordBatch) reuse() {
	clear(b.events)
	if cap(b.bytes) <= pooledBatch {
		batchPool.Put(b)
	}
}

// add appends an event as a record. All records have the timestamp of the batch.
func (b *recordBatch) add(key, value []byte, event eventRef) {
	offset := len(b.events)
	size := 1 + 1 + varintSize(offset) + varintSize(len(key)) + len(key) + varintSize(len(value)) + len(value) + 1
	to := binary.AppendVarint(b.bytes, int64(size))
	to = append(to, 0, 0) // attributes, timestamp delta
	to = binary.AppendVarint(to, int64(offset))
	to = append(binary.AppendVarint(to, int64(len(key))), key...)
	to = append(binary.AppendVarint(to, int64(len(value))), value...)
	b.bytes = append(to, 0) // no headers
	b.events = append(b.events, event)
	if event.of.since.After(b.newest) { // events that moved from another generation are older than those that arrived meanwhile
		b.newest = event.of.since
	}
}

// records yields key and value of each event, in the order they were added.
func (b *recordBatch) records() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for rest := b.bytes[beforeRecords:]; len(rest) > 0; {
			size, n := binary.Varint(rest)
			record := rest[n : n+int(size)]
			rest = rest[n+int(size):]
			record = record[2:] // attributes, timestamp delta
			_, n = binary.Varint(record)
			key, after := field(record[n:])
			value, _ := field(after)
			if !yield(key, value) {
				return
			}
		}
	}
}

// field splits bytes that begin with the length of a first part.
func field(b []byte) (first, rest []byte) {
	size, n := binary.Varint(b)
	return b[n : n+int(size)], b[n+int(size):]
}

// varintSize is how many bytes a length takes as a varint.
func varintSize(n int) int { return (bits.Len64(uint64(n)<<1|1) + 6) / 7 }

// seal fills in the fields that depend on all records, and ends the open state. The timestamp is the time of writing, not of
// the events: Kafka's retention goes by it, and an event may be years old.
func (b *recordBatch) seal(now time.Time) {
	to, put32, put64 := b.bytes, binary.BigEndian.PutUint32, binary.BigEndian.PutUint64
	put32(to, uint32(len(to)-4))
	put32(to[atLength:], uint32(len(to)-atEpoch))
	put32(to[atLastOffset:], uint32(len(b.events)-1))
	put64(to[atFirstTime:], uint64(now.UnixMilli()))
	put64(to[atMaxTime:], uint64(now.UnixMilli()))
	put32(to[atCount:], uint32(len(b.events)))
	put32(to[atSum:], crc32.Checksum(to[atAttributes:], castagnoli))
	b.sealed = true
}

// encoded is the keys and values of events in one buffer. Events are encoded before mu is taken, so that others do not wait.
type encoded struct {
	bytes  []byte
	events []textSpan
}

// textSpan is where an event begins in the buffer: its key, its value, and the end.
type textSpan struct{ key, value, end int }

var textPool = sync.Pool{New: func() any { return &encoded{} }}

// encode encodes events. Those that cannot be encoded get an error in outcomes.
func encode(events []models.Event, outcomes []error) *encoded {
	t := textPool.Get().(*encoded)
	t.bytes, t.events = t.bytes[:0], t.events[:0]
	for i, event := range events {
		e := textSpan{key: len(t.bytes)}
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

// reuse returns the buffer to the pool, once the events are copied to their batches: nobody waits for Kafka holding it.
func (t *encoded) reuse() {
	if cap(t.bytes) <= pooledText {
		textPool.Put(t)
	}
}

func (t *encoded) of(e textSpan) (key, value []byte) {
	return t.bytes[e.key:e.value], t.bytes[e.value:e.end]
}
