package publisher

import (
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
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
func (q *partitionQueue) add(key, value []byte, event eventRef, now time.Time) bool {
	wasIdle := len(q.batches) == 0 && !q.busy
	last := (*recordBatch)(nil)
	if n := len(q.batches); n > 0 {
		last = q.batches[n-1]
	}
	if last == nil || last.sealed || len(last.bytes)+len(key)+len(value)+recordOverhead > q.maxBatch {
		last = newRecordBatch(q)
		q.batches = append(q.batches, last)
	}
	last.add(key, value, event, now)
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
