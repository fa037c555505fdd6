package publisher

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"

	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/models"
)

// When a topic gets another number of partitions it goes on as a new Kafka topic, its next generation. `consumer grow` first
// creates the new topic and then seals the old one: Kafka refuses all further writes to it as too large. A publisher that gets
// this error looks for a newer generation and writes the refused events there. They are not in the old topic, or, if the answer
// to an earlier attempt was lost, they are there under the same id, and consumers drop the second one. So nobody has to tell the
// producers, and no event is lost.

// newestGeneration is the generation of a topic that is written to.
func newestGeneration(ctx context.Context, via dial.Kafka, base string) (topics.Generation, error) {
	all, err := topics.Generations(ctx, via, base)
	if err != nil {
		return topics.Generation{}, err
	}
	return all[len(all)-1], nil
}

// openGeneration makes a generation the one that is written to. The caller holds mu, or is alone.
func (p *Publisher) openGeneration(base string, g topics.Generation) {
	p.current[base] = g.Topic
	for n := range g.Partitions {
		p.keys[g.Topic] = append(p.keys[g.Topic], n)
		p.queues[g.Topic] = append(p.queues[g.Topic], &partitionQueue{
			base: base, topic: g.Topic, partition: int32(n), maxBatch: maxBatch, leader: &p.nobody,
		})
	}
}

// connect makes a transport that knows the topics in use and those given.
func (p *Publisher) connect(more ...string) *kafka.Transport {
	t := p.via.Transport()
	t.ClientID, t.DialTimeout, t.MetadataTTL = "footfall-producer", p.timeout, metadataTTL
	p.mu.Lock()
	defer p.mu.Unlock()
	t.MetadataTopics = slices.AppendSeq(more, maps.Keys(p.queues))
	return t
}

// currentTopics are the generations that are written to. The caller holds mu.
func (p *Publisher) currentTopics() []string { return slices.Sorted(maps.Values(p.current)) }

// park keeps a batch that Kafka refused as too large until it is known whether its topic has a newer generation. It returns
// false if that is known already: the batch really is too large. The caller holds mu.
func (p *Publisher) park(b *recordBatch, err error) bool {
	q := b.queue
	switch {
	case p.life.Err() != nil || b.tooLarge:
		return false
	case p.current[q.base] != q.topic: // the newer generation is in use already
		p.move(b)
		p.release(q)
		return true
	}
	p.parked[q.base] = append(p.parked[q.base], parked{b, err}) // its queue stays busy
	if len(p.parked[q.base]) == 1 {
		go p.follow(q.base, q.topic)
	}
	return true
}

// follow looks for a newer generation of a topic and moves to it all events that wait for the old one.
func (p *Publisher) follow(base, old string) {
	ctx, cancel := context.WithTimeout(p.life, p.timeout)
	defer cancel()
	found, err := p.newerGeneration(ctx, base, old)
	if err != nil || found.Topic == "" {
		p.unpark(base, err)
		return
	}
	p.followMu.Lock() // or two topics at once would each make a transport that does not know the other's new topic
	defer p.followMu.Unlock()
	transport := p.connect(found.Topic)
	// The first request of a transport waits for brokers: do that before mu is taken. An error comes up again when writing.
	_, _ = transport.RoundTrip(ctx, p.addr, &metadata.Request{TopicNames: transport.MetadataTopics})

	p.mu.Lock()
	defer p.mu.Unlock()
	p.transport.Swap(transport).CloseIdleConnections() // only the idle ones: requests may be in flight
	p.openGeneration(base, found)
	_ = p.findLeaders(ctx)
	p.log.Info("the topic is sealed: events go to its next generation", "sealed", old, "topic", found.Topic, "partitions", found.Partitions)
	p.ready = slices.DeleteFunc(p.ready, func(q *partitionQueue) bool { return q.topic == old })
	for _, refused := range p.parked[base] {
		p.move(refused.batch) // before those that wait behind it
	}
	for _, q := range p.queues[old] {
		for _, b := range q.batches {
			p.move(b)
		}
		q.batches = nil
	}
	delete(p.parked, base)
	p.dispatch()
}

// followPatience is how long a newer generation is looked for: the broker that is asked may hear of it later than the leader that refused
// events. Batches that really are too large wait for as long; the next ones are smaller.
const followPatience = 2 * time.Second

// newerGeneration finds a newer generation than old; none without an error if there is none.
func (p *Publisher) newerGeneration(ctx context.Context, base, old string) (topics.Generation, error) {
	_, number := models.SplitGeneration(old)
	for until := time.Now().Add(min(followPatience, p.timeout/2)); ; {
		found, err := newestGeneration(ctx, p.via, base)
		if err != nil || found.Number > number {
			return found, err
		}
		select {
		case <-time.After(firstBackoff):
		case <-ctx.Done():
			return topics.Generation{}, ctx.Err()
		}
		if time.Now().After(until) {
			return topics.Generation{}, nil
		}
	}
}

// unpark fails the parked batches of a topic: there is no newer generation, so they really are too large.
func (p *Publisher) unpark(base string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.log.Warn("Kafka refuses events as too large, and looking for a newer generation of the topic failed", "topic", base, "error", err)
	}
	batches := p.parked[base]
	delete(p.parked, base)
	for _, refused := range batches {
		refused.batch.tooLarge = true
		p.finish(refused.batch, refused.err)
	}
	p.dispatch()
}

// move appends the events of a batch to the queues of the generation that is written to. The batch itself is not reused: an
// abandoned request may still read its bytes. The caller holds mu.
func (p *Publisher) move(b *recordBatch) {
	i, queues := 0, p.queues[p.current[b.queue.base]]
	for key, value := range b.records() {
		p.appendTo(p.queueOf(queues, key), key, value, b.events[i])
		i++
	}
}

// warnOfPartitions logs once that a topic has more partitions than the producer uses. The caller holds mu.
func (p *Publisher) warnOfPartitions(topic string, now int) {
	if p.grown[topic] {
		return
	}
	p.grown[topic] = true
	p.log.Error("the topic got more partitions, which this producer does not use: consumers stop until `consumer grow` makes a new"+
		" generation of the topic", "topic", topic, "partitions", now, "used", len(p.queues[topic]))
}
