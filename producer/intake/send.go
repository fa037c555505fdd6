package intake

import (
	"bytes"
	"context"
	"errors"
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
	// lookEvery is how old the leaders may be that lanes know. They are copied from what the transport remembers, which asks
	// no broker.
	lookEvery = 100 * time.Millisecond

	// maxRequest is the size from which on a request takes no further group; brokers take 100 MB unless they are told
	// otherwise.
	maxRequest = 16 << 20

	// patience is how long others wait for a request before they make one of their own.
	patience = 100 * time.Millisecond

	// lastChance is what a request has at the least, however long its events have waited.
	lastChance = time.Second

	allReplicas = -1 // that are in sync must have an event before Kafka acknowledges it
)

// broker is one that leads partitions. It has one request under way as a rule, and what comes meanwhile shares the next. But
// Kafka answers when all partitions of a request are replicated, so that one of them can hold up all: after a while the
// others are sent in requests of their own.
type broker struct {
	senders int       // to it
	begun   time.Time // the last request
}

// flush sees to it that what is ready is sent. The caller holds mu.
func (p *publisher) flush() {
	if len(p.ready) == 0 || p.life.Err() != nil {
		return
	}
	if time.Since(p.looked) > lookEvery {
		_ = p.look(p.life) // an error leaves the leaders as they were
	}
	p.ready = slices.DeleteFunc(p.ready, func(l *lane) bool {
		p.expire(l)
		if len(l.groups) > 0 && l.failures > 0 { // what has failed is tried in a request of its own, or it would hold up others
			go p.deliver(l.leader, []*group{l.take()})
			return true
		}
		return len(l.groups) == 0
	})
	now := time.Now()
	for _, l := range p.ready {
		if to := l.leader; to.senders == 0 || now.Sub(to.begun) > p.patience {
			to.senders++
			to.begun = now
			go p.send(to)
		}
	}
}

// send writes to a broker until nothing is ready for it.
func (p *publisher) send(to *broker) {
	for {
		runtime.Gosched() // who is about to add an event may do so first: fewer requests
		groups := p.next(to)
		if len(groups) == 0 {
			return
		}
		late := time.AfterFunc(p.patience, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.flush()
		})
		p.deliver(to, groups)
		late.Stop()
	}
}

// deliver makes one request and sees to what became of it.
func (p *publisher) deliver(to *broker, groups []*group) {
	outcomes := p.produce(to, groups)
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, g := range groups {
		p.ended(g, outcomes[i])
	}
	p.flush() // for other brokers: a leader may have moved
}

// next takes a group from each lane that is ready for a broker, as many as a request may hold. With none there is one sender
// less.
func (p *publisher) next(to *broker) []*group {
	p.mu.Lock()
	defer p.mu.Unlock()
	var groups []*group
	size, later := 0, p.ready[:0]
	for _, l := range p.ready {
		if l.leader != to || size > maxRequest {
			later = append(later, l)
			continue
		}
		g := l.take()
		groups, size = append(groups, g), size+len(g.bytes)
	}
	clear(p.ready[len(later):])
	p.ready = later
	if to.begun = time.Now(); len(groups) == 0 {
		to.senders--
	}
	return groups
}

// produce makes one request of groups, each of another partition, and tells what became of each.
func (p *publisher) produce(to *broker, groups []*group) []error {
	outcomes := make([]error, len(groups))
	response, err := p.roundTrip(to, groups)
	for i, g := range groups {
		if outcomes[i] = err; err == nil {
			outcomes[i] = outcomeOf(response, g.lane)
		}
	}
	return outcomes
}

func (p *publisher) roundTrip(to *broker, groups []*group) (*produce.Response, error) {
	if to == &p.nobody {
		return nil, kafka.LeaderNotAvailable
	}
	if p.life.Err() != nil {
		return nil, errClosed // or the transport would begin anew
	}
	now := time.Now()
	deadline := now.Add(lastChance)
	for _, g := range groups {
		if until := g.newest.Add(p.timeout); until.After(deadline) {
			deadline = until
		}
	}
	ctx, cancel := context.WithDeadline(p.life, deadline)
	defer cancel()
	// Kafka gives up waiting for replicas in time for us to hear which partitions have them.
	request := &rawproduce.Request{Acks: allReplicas, Timeout: int32(deadline.Sub(now).Milliseconds() / 2)}
	for _, g := range groups {
		i := slices.IndexFunc(request.Topics, func(t rawproduce.RequestTopic) bool { return t.Topic == g.lane.topic })
		if i < 0 {
			i = len(request.Topics)
			request.Topics = append(request.Topics, rawproduce.RequestTopic{Topic: g.lane.topic})
		}
		request.Topics[i].Partitions = append(request.Topics[i].Partitions, rawproduce.RequestPartition{
			Partition: g.lane.partition, RecordSet: protocol.RawRecordSet{Reader: bytes.NewReader(g.bytes)},
		})
	}
	response, err := p.transport.Load().RoundTrip(ctx, p.addr, request) // to their leader, or an error if they have several
	if err != nil {
		return nil, fmt.Errorf("writing to Kafka: %w", err)
	}
	return response.(*produce.Response), nil
}

// outcomeOf finds in a response what became of a partition's group.
func outcomeOf(r *produce.Response, l *lane) error {
	for _, t := range r.Topics {
		if t.Topic != l.topic {
			continue
		}
		for _, answer := range t.Partitions {
			if answer.Partition != l.partition {
				continue
			}
			if answer.ErrorCode == 0 {
				return nil
			}
			return fmt.Errorf("writing to %s/%d: %w %s", l.topic, l.partition, kafka.Error(answer.ErrorCode), answer.ErrorMessage)
		}
	}
	return errors.New("the answer does not name the partition")
}

// look copies what the transport knows of leaders. The first time it waits until that knows any; see metadataTTL for how
// often it asks. The caller holds mu, or is alone.
func (p *publisher) look(ctx context.Context) error {
	p.looked = time.Now()
	transport := p.transport.Load()
	response, err := transport.RoundTrip(ctx, p.addr, &metadata.Request{TopicNames: transport.MetadataTopics})
	if err != nil {
		return err
	}
	known := response.(*metadata.Response)
	for _, lanes := range p.lanes {
		for _, l := range lanes {
			l.leader = &p.nobody // unless they are named below: a topic may be gone
		}
	}
	for _, b := range known.Brokers {
		if p.brokers[b.NodeID] == nil {
			p.brokers[b.NodeID] = &broker{}
		}
	}
	for _, t := range known.Topics {
		for _, found := range t.Partitions {
			if int(found.PartitionIndex) >= len(p.lanes[t.Name]) {
				p.warnOfPartitions(t.Name, len(t.Partitions))
				continue
			}
			l := p.lanes[t.Name][found.PartitionIndex]
			if slices.ContainsFunc(known.Brokers, func(b metadata.ResponseBroker) bool { return b.NodeID == found.LeaderID }) {
				l.leader = p.brokers[found.LeaderID]
			}
		}
	}
	return nil
}
