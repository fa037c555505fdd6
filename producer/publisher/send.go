package publisher

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/segmentio/kafka-go/protocol/produce"
	"github.com/segmentio/kafka-go/protocol/rawproduce"
)

const (
	// leadersTTL is how old the leaders may be that queues know. findLeaders copies them from the transport's memory, which
	// asks no broker.
	leadersTTL = 100 * time.Millisecond

	// maxRequest is the size at which a request takes no further batch. Brokers take 100 MB unless they are configured
	// otherwise.
	maxRequest = 16 << 20

	// patience is how long ready queues wait for the broker's request in flight before they get a sender of their own.
	patience = 100 * time.Millisecond

	// linger is how long after an answer of a broker events wait for others to share their request. It bounds what sharing adds to the
	// time of an answer, so it must be well below the 10 ms that nobody notices.
	linger = 5 * time.Millisecond

	// plenty is how many events a request carries before more of them make it much cheaper: such a request waits for no others.
	plenty = 32

	// lastChance is the least time that a request gets, however long its events have waited.
	lastChance = time.Second

	allReplicas = -1 // acks=all: all in-sync replicas must have an event before Kafka acknowledges it
)

// broker leads partitions. As a rule it has one request in flight, and what arrives meanwhile shares the next one. But Kafka
// answers only when all partitions of a request are replicated, so one slow partition can hold up all of them. After patience
// the others get another sender.
type broker struct {
	senders   int           // goroutines that send to it
	begun     time.Time     // when the latest request was started
	answered  time.Time     // when the latest request was answered
	expected  int           // events that were under way then, in the request and in queues: as many may come again soon
	gathering chan struct{} // closed when as many wait as are expected; nil unless a sender waits for that
}

// send writes to a broker until no queue is ready for it.
func (p *Publisher) send(to *broker) {
	for {
		runtime.Gosched() // lets others append their events first: fewer requests
		p.gather(to)
		batches := p.nextRequest(to)
		if len(batches) == 0 {
			return
		}
		late := time.AfterFunc(p.patience, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.dispatch()
		})
		p.deliver(to, batches)
		late.Stop()
	}
}

// gather waits until as many events wait for a broker as were under way when it answered last, but no longer than linger after that
// answer. Those that were answered together tend to come again together, and where events come at a steady rate more and more of them
// share a request. An event that is alone waits for nobody: none but itself was under way before, or that was long ago.
func (p *Publisher) gather(to *broker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := time.Until(to.answered.Add(p.linger))
	if n := p.waiting(to); left <= 0 || n == 0 || n >= to.expected {
		return
	}
	if to.gathering == nil {
		to.gathering = make(chan struct{})
	}
	enough := to.gathering
	p.mu.Unlock()
	timer := time.NewTimer(left)
	select {
	case <-timer.C:
	case <-enough:
	case <-p.life.Done():
	}
	timer.Stop()
	p.mu.Lock()
}

// waiting counts the events that wait in ready queues for a broker. The caller holds mu.
func (p *Publisher) waiting(to *broker) (n int) {
	for _, q := range p.ready {
		if q.leader != to {
			continue
		}
		for _, b := range q.batches {
			n += len(b.events)
		}
	}
	return n
}

// nextRequest takes a batch from each queue that is ready for a broker, as many as fit into a request. If there is none the
// sender ends.
func (p *Publisher) nextRequest(to *broker) []*recordBatch {
	p.mu.Lock()
	defer p.mu.Unlock()
	var batches []*recordBatch
	size, later := 0, p.ready[:0]
	for _, q := range p.ready {
		if q.leader != to || size > maxRequest {
			later = append(later, q)
			continue
		}
		b := q.take()
		batches, size = append(batches, b), size+len(b.bytes)
	}
	clear(p.ready[len(later):])
	p.ready = later
	to.gathering = nil
	if to.begun = time.Now(); len(batches) == 0 {
		to.senders--
	}
	return batches
}

// deliver makes one request of batches, each of another partition, and handles the outcome of each.
func (p *Publisher) deliver(to *broker, batches []*recordBatch) {
	outcomes := p.produce(to, batches)
	p.mu.Lock()
	defer p.mu.Unlock()
	to.answered, to.expected = time.Now(), 0
	for i, b := range batches {
		to.expected += len(b.events)
		p.finish(b, outcomes[i])
	}
	to.expected = min(to.expected+p.waiting(to), plenty)
	p.dispatch() // for other brokers: a leader may have moved
}

// produce makes the request and returns the outcome of each batch. It runs without mu.
func (p *Publisher) produce(to *broker, batches []*recordBatch) []error {
	outcomes := make([]error, len(batches))
	response, err := p.roundTrip(to, batches)
	for i, b := range batches {
		if outcomes[i] = err; err == nil {
			outcomes[i] = outcomeOf(response, b.queue)
		}
	}
	return outcomes
}

func (p *Publisher) roundTrip(to *broker, batches []*recordBatch) (*produce.Response, error) {
	if to == &p.nobody {
		return nil, kafka.LeaderNotAvailable
	}
	if p.life.Err() != nil {
		return nil, errClosed // a closed transport would open new connections
	}
	now := time.Now()
	deadline := now.Add(lastChance)
	for _, b := range batches {
		if until := b.newest.Add(p.timeout); until.After(deadline) {
			deadline = until
		}
	}
	ctx, cancel := context.WithDeadline(p.life, deadline)
	defer cancel()
	// Kafka stops waiting for replicas after half the time, so that its answer, which names the partitions that have them,
	// still arrives before the deadline.
	request := requestOf(batches, deadline.Sub(now)/2)
	response, err := p.transport.Load().RoundTrip(ctx, p.addr, request) // to their leader; an error if they have several
	if err != nil {
		return nil, fmt.Errorf("writing to Kafka: %w", err)
	}
	return response.(*produce.Response), nil
}

// requestOf packs batches of different partitions into one produce request. timeout is how long Kafka waits for the in-sync replicas.
func requestOf(batches []*recordBatch, timeout time.Duration) *rawproduce.Request {
	r := &rawproduce.Request{Acks: allReplicas, Timeout: int32(timeout.Milliseconds())}
	for _, b := range batches {
		i := slices.IndexFunc(r.Topics, func(t rawproduce.RequestTopic) bool { return t.Topic == b.queue.topic })
		if i < 0 {
			i = len(r.Topics)
			r.Topics = append(r.Topics, rawproduce.RequestTopic{Topic: b.queue.topic})
		}
		r.Topics[i].Partitions = append(r.Topics[i].Partitions, rawproduce.RequestPartition{
			Partition: b.queue.partition, RecordSet: protocol.RawRecordSet{Reader: bytes.NewReader(b.bytes)},
		})
	}
	return r
}

// outcomeOf finds in a response what became of a partition's batch.
func outcomeOf(r *produce.Response, q *partitionQueue) error {
	for _, t := range r.Topics {
		if t.Topic != q.topic {
			continue
		}
		for _, result := range t.Partitions {
			if result.Partition != q.partition {
				continue
			}
			if result.ErrorCode == 0 {
				return nil
			}
			return fmt.Errorf("writing to %s/%d: %w %s", q.topic, q.partition, kafka.Error(result.ErrorCode), result.ErrorMessage)
		}
	}
	return fmt.Errorf("writing to %s/%d: Kafka's answer does not name the partition", q.topic, q.partition)
}

// findLeaders copies the partition leaders from the transport's memory; see metadataTTL for how often the transport asks
// Kafka. The first call of a transport waits until it knows any. The caller holds mu, or is alone.
func (p *Publisher) findLeaders(ctx context.Context) error {
	p.leaders = time.Now()
	transport := p.transport.Load()
	response, err := transport.RoundTrip(ctx, p.addr, &metadata.Request{TopicNames: transport.MetadataTopics})
	if err != nil {
		return err
	}
	known := response.(*metadata.Response)
	for _, queues := range p.queues {
		for _, q := range queues {
			q.leader = &p.nobody // unless it is named below: the topic may have been deleted
		}
	}
	for _, b := range known.Brokers {
		if p.brokers[b.NodeID] == nil {
			p.brokers[b.NodeID] = &broker{}
		}
	}
	for _, t := range known.Topics {
		for _, found := range t.Partitions {
			if int(found.PartitionIndex) >= len(p.queues[t.Name]) {
				p.warnOfPartitions(t.Name, len(t.Partitions))
				continue
			}
			q := p.queues[t.Name][found.PartitionIndex]
			if slices.ContainsFunc(known.Brokers, func(b metadata.ResponseBroker) bool { return b.NodeID == found.LeaderID }) {
				q.leader = p.brokers[found.LeaderID]
			}
		}
	}
	return nil
}
