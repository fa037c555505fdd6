package publisher

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/internal/fair"
	"footfall/producer/admission"
	"footfall/producer/answer"
)

// slotBytes is how much memory a slot stands for: an event that is larger takes several.
const slotBytes = 4 << 10

const firstBackoff, maxBackoff = 100 * time.Millisecond, time.Second

// state is what changes while a Publisher runs. doc.go explains the states of queues and batches. All functions in this file
// expect the caller to hold mu.
type state struct {
	mu sync.Mutex

	current map[string]string            // the generation that is written to, by base name of the topic
	parked  map[string][]parked          // batches that wait for the search for a newer generation, by base name
	grown   map[string]bool              // topics that got more partitions after they were opened, and that were logged
	keys    partitioner                  // by generation
	queues  map[string][]*partitionQueue // by generation
	ready   []*partitionQueue            // queues in state ready
	brokers map[int32]*broker
	nobody  broker    // placeholder for leaderless partitions: its sends fail, so that the normal retry path applies
	leaders time.Time // when findLeaders was last called; zero to have it called again soon

	slots   *fair.Shares[admission.Tenant]
	seed    maphash.Seed
	grants  *fair.Shared  // by grant and queue
	failing bool          // the latest batch failed; to log changes and not every batch
	empty   chan struct{} // closed when no slot is in use; nil unless Close waits for that
}

// parked is a batch that Kafka refused as too large, with that error.
type parked struct {
	batch *recordBatch
	err   error
}

func newState(slots int, grants *fair.Shared) state {
	return state{
		current: map[string]string{}, parked: map[string][]parked{}, grown: map[string]bool{}, keys: partitioner{},
		queues: map[string][]*partitionQueue{}, brokers: map[int32]*broker{}, slots: fair.NewShares[admission.Tenant](slots, (slots+1)/2),
		seed: maphash.MakeSeed(), grants: grants,
	}
}

// enqueue appends events to the queues of their partitions, as many as the tenant gets slots for.
func (p *Publisher) enqueue(base string, d *Delivery, text *encoded) {
	closed, queues := p.life.Err() != nil, p.queues[p.current[base]]
	for i, e := range text.events {
		switch {
		case d.outcomes[i] != nil: // could not be encoded
			continue
		case closed:
			d.outcomes[i] = unavailable(errClosed)
			continue
		}
		key, value := text.of(e)
		q, slots := p.queueOf(queues, key), 1+(len(key)+len(value))/slotBytes
		if !p.slots.May(d.share, slots) {
			d.outcomes[i] = &answer.Refusal{Reason: answer.Overloaded, Detail: "too many events are being written; try again"}
			continue
		}
		if wait := p.chargeGrant(d, q); wait > 0 { // last: what is refused is not charged
			d.outcomes[i] = &answer.Refusal{Reason: answer.RateLimited, Detail: "too many events with this key for one partition", After: wait}
			continue
		}
		p.slots.Take(d.share, slots)
		p.appendTo(q, key, value, eventRef{d, i, slots})
		d.outcomes[i] = errUnderWay
		d.left++
	}
	p.slots.Release(d.share, 0)
	p.metrics.inFlight.Add(float64(d.left))
}

// chargeGrant charges the key of a tenant for one event to a partition, or returns how long to wait. Otherwise the holder of one key could
// push the ids of all others out of the window in which consumers recognise them (duplicates.window). A page's client has something of its
// own before that: everybody has the key.
func (p *Publisher) chargeGrant(d *Delivery, q *partitionQueue) time.Duration {
	if p.grants == nil || d.of.Grant == "" {
		return 0
	}
	type of struct {
		grant     string
		topic     string
		partition int32
	}
	return p.grants.Take(d.since, d.own, maphash.Comparable(p.seed, of{d.of.Grant, q.base, q.partition}))
}

// queueOf is the queue of an event's partition. queues are those of one generation.
func (p *Publisher) queueOf(queues []*partitionQueue, key []byte) *partitionQueue {
	return queues[p.keys.Balance(kafka.Message{Topic: queues[0].topic, Key: key})]
}

// appendTo appends an event to a queue.
func (p *Publisher) appendTo(q *partitionQueue, key, value []byte, event eventRef) {
	if q.add(key, value, event) {
		p.ready = append(p.ready, q)
	}
}

// dispatch makes sure that ready queues are sent: it starts senders where none is at work, or where the one at work has been
// waiting for Kafka for too long.
func (p *Publisher) dispatch() {
	if len(p.ready) == 0 || p.life.Err() != nil {
		return
	}
	if time.Since(p.leaders) > leadersTTL {
		_ = p.findLeaders(p.life) // an error leaves the leaders as they were
	}
	p.ready = slices.DeleteFunc(p.ready, func(q *partitionQueue) bool {
		p.expire(q)
		if len(q.batches) > 0 && q.failures > 0 { // in a request of its own, or it would hold up other partitions
			go p.deliver(q.leader, []*recordBatch{q.take()})
			return true
		}
		return len(q.batches) == 0
	})
	now := time.Now()
	for _, q := range p.ready {
		if to := q.leader; to.senders == 0 || now.Sub(to.begun) > p.patience {
			to.senders++
			to.begun = now
			go p.send(to)
		}
		if to := q.leader; to.gathering != nil && p.waiting(to) >= to.expected {
			close(to.gathering)
			to.gathering = nil
		}
	}
}

// expire settles batches that wait in a queue and whose callers have all gone.
func (p *Publisher) expire(q *partitionQueue) {
	for len(q.batches) > 0 && time.Since(q.batches[0].newest) >= p.timeout {
		b := q.batches[0]
		q.batches = slices.Delete(q.batches, 0, 1)
		p.settle(b, context.DeadlineExceeded)
	}
}

// finish decides what happens to a batch that was in flight: it is settled, retried, or parked.
func (p *Publisher) finish(b *recordBatch, err error) {
	q := b.queue
	if err != nil {
		p.leaders = time.Time{} // the leader may have changed
	}
	if errors.Is(err, kafka.MessageSizeTooLarge) && p.park(b, err) {
		return
	}
	if err != nil && p.retryable(b, err) {
		q.batches = slices.Insert(q.batches, 0, b)
		p.backOff(q)
		return
	}
	switch {
	case err == nil:
		q.failures = 0
	case errors.Is(err, kafka.MessageSizeTooLarge) && len(b.events) > 1:
		q.maxBatch = len(b.bytes) / 2 // the broker's limit is lower than ours
	case p.life.Err() == nil && !refusedForGood(err):
		q.failures = max(q.failures, 1)
	}
	p.settle(b, err)
	p.release(q)
}

// retryable tells whether a batch is sent again: not if Kafka refused it for good, and not if all callers have gone.
func (p *Publisher) retryable(b *recordBatch, err error) bool {
	return !refusedForGood(err) && p.life.Err() == nil && time.Since(b.newest) < p.timeout
}

// refusedForGood tells whether Kafka would refuse the same batch again.
func refusedForGood(err error) bool {
	var refused kafka.Error
	return errors.As(err, &refused) && !refused.Temporary() && !errors.Is(err, kafka.BrokerNotAvailable)
}

// backOff keeps a queue busy for a while, longer after each failure.
func (p *Publisher) backOff(q *partitionQueue) {
	q.busy = true
	q.failures = min(q.failures+1, 10)
	time.AfterFunc(min(time.Duration(q.failures*q.failures)*firstBackoff, maxBackoff), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.release(q)
		p.dispatch()
	})
}

// release ends the busy state of a queue.
func (p *Publisher) release(q *partitionQueue) {
	q.busy = false
	if len(q.batches) > 0 {
		p.ready = append(p.ready, q)
	}
}

// settle stores the outcome of all events of a batch, gives their slots back, and wakes callers whose last event it was.
func (p *Publisher) settle(b *recordBatch, err error) {
	p.logChange(err)
	if err == nil {
		p.metrics.events.WithLabelValues(b.queue.topic).Add(float64(len(b.events)))
	} else {
		err = unavailable(err)
	}
	for _, e := range b.events {
		p.slots.Release(e.of.share, e.slots)
		e.of.outcomes[e.index] = err
		e.of.failed = e.of.failed || err != nil
		if e.of.left--; e.of.left > 0 {
			continue
		}
		if !e.of.failed {
			p.metrics.write.Observe(time.Since(e.of.since).Seconds())
		}
		close(e.of.done)
	}
	p.metrics.inFlight.Sub(float64(len(b.events)))
	if p.slots.Used() == 0 && p.empty != nil {
		close(p.empty)
		p.empty = nil
	}
	if err == nil { // else an abandoned request may still read its bytes
		b.reuse()
	}
}

// logChange logs when Kafka stops taking events and when it takes them again.
func (p *Publisher) logChange(err error) {
	switch failed := err != nil; {
	case failed == p.failing:
		return
	case failed:
		p.log.Warn("Kafka does not take events; answering 503 until it does", "error", err)
	default:
		p.log.Info("Kafka takes events again")
	}
	p.failing = err != nil
}
