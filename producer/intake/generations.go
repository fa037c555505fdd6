package intake

import (
	"context"
	"maps"
	"slices"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"

	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/models"
)

// A topic that is given another number of partitions goes on as a new Kafka topic, its next generation. `consumer grow` makes
// that one first and seals the old one then: Kafka refuses whatever is written to it, for its size. A door that hears so looks
// for a newer generation and writes there what was refused. That is in no log yet, or, where the answer to an earlier attempt was lost,
// in the old one under the same id, which consumers see. So nobody has to tell the doors, and no event is lost.

// suspect is a group that Kafka refused for its size: perhaps its topic is sealed.
type suspect struct {
	group *group
	err   error
}

// newest is the generation of a topic that is written to.
func newest(ctx context.Context, via dial.Kafka, base string) (topics.Generation, error) {
	all, err := topics.Generations(ctx, via, base)
	if err != nil {
		return topics.Generation{}, err
	}
	return all[len(all)-1], nil
}

// open makes a generation the one that is written to. The caller holds mu, or is alone.
func (p *publisher) open(base string, g topics.Generation) {
	p.current[base] = g.Topic
	for n := range g.Partitions {
		p.spread[g.Topic] = append(p.spread[g.Topic], n)
		p.lanes[g.Topic] = append(p.lanes[g.Topic], &lane{base: base, topic: g.Topic, partition: int32(n), most: maxGroup, leader: &p.nobody})
	}
}

// connect makes a transport that knows the topics in use and those given.
func (p *publisher) connect(more ...string) *kafka.Transport {
	t := p.via.Transport()
	t.ClientID, t.DialTimeout, t.MetadataTTL = "footfall-producer", p.timeout, metadataTTL
	p.mu.Lock()
	defer p.mu.Unlock()
	t.MetadataTopics = slices.AppendSeq(more, maps.Keys(p.lanes))
	return t
}

// topics are those that events are written to now.
func (p *publisher) topics() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Values(p.current))
}

// suspect is told of a group that Kafka refused for its size. It returns false where the topic is not sealed: then the group
// really is too large. Else the group's events have moved, or will when it is known where to. The caller holds mu.
func (p *publisher) suspect(g *group, err error) bool {
	l := g.lane
	switch {
	case p.life.Err() != nil || g.looked:
		return false
	case p.current[l.base] != l.topic: // found already
		p.move(g)
		p.free(l)
		return true
	}
	p.sealed[l.base] = append(p.sealed[l.base], suspect{g, err}) // its lane stays held
	if len(p.sealed[l.base]) == 1 {
		go p.follow(l.base, l.topic)
	}
	return true
}

// follow looks for a newer generation of a topic and moves to it what waits for the old one.
func (p *publisher) follow(base, old string) {
	ctx, cancel := context.WithTimeout(p.life, p.timeout)
	defer cancel()
	found, err := newest(ctx, p.via, base)
	if _, number := models.SplitGeneration(old); err != nil || found.Number <= number { // a broker that is behind knows older ones only
		p.stay(base, err)
		return
	}
	p.following.Lock() // or two would each make a transport that does not know the other's topic
	defer p.following.Unlock()
	transport := p.connect(found.Topic)
	// Asked for the first time it waits for brokers, for which nobody else should. An error is met again by whoever writes.
	_, _ = transport.RoundTrip(ctx, p.addr, &metadata.Request{TopicNames: transport.MetadataTopics})

	p.mu.Lock()
	defer p.mu.Unlock()
	p.transport.Swap(transport).CloseIdleConnections() // when they are idle: requests may be under way
	p.open(base, found)
	_ = p.look(ctx)
	p.log.Info("the topic is sealed: events go to its next generation", "sealed", old, "topic", found.Topic, "partitions", found.Partitions)
	p.ready = slices.DeleteFunc(p.ready, func(l *lane) bool { return l.topic == old })
	for _, s := range p.sealed[base] {
		p.move(s.group) // before those that wait behind it
	}
	for _, l := range p.lanes[old] {
		for _, g := range l.groups {
			p.move(g)
		}
		l.groups = nil
	}
	delete(p.sealed, base)
	p.flush()
}

// stay is for when there is no newer generation: what was refused is too large, after all.
func (p *publisher) stay(base string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.log.Warn("Kafka refuses events for their size, and a newer generation of the topic could not be looked for", "topic", base, "error", err)
	}
	refused := p.sealed[base]
	delete(p.sealed, base)
	for _, s := range refused {
		s.group.looked = true
		p.ended(s.group, s.err)
	}
	p.flush()
}

// move puts the events of a group into the lanes of the generation that is written to. The group itself is left to whoever may
// still be reading its bytes. The caller holds mu.
func (p *publisher) move(g *group) {
	i, lanes := 0, p.lanes[p.current[g.lane.base]]
	for key, value := range g.records() {
		p.put(lanes, key, value, g.entries[i])
		i++
	}
}

// warnOfPartitions says once that somebody gave a topic more partitions than its events are spread over. The caller holds mu.
func (p *publisher) warnOfPartitions(topic string, now int) {
	if p.added[topic] {
		return
	}
	p.added[topic] = true
	p.log.Error("the topic was given more partitions, which this door does not use: consumers stop until `consumer grow` makes a new"+
		" generation of the topic", "topic", topic, "partitions", now, "used", len(p.lanes[topic]))
}
