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

	// maxRequest bounds the bytes of one request; brokers take 100 MB unless they are told otherwise.
	maxRequest = 16 << 20

	allReplicas = -1 // that are in sync must have an event before Kafka acknowledges it
)

// broker is one that leads partitions. It has one request under way at a time, and what comes meanwhile shares the next.
type broker struct {
	busy bool // somebody sends to it
}

// flush sees to it that what is ready is sent. The caller holds mu.
func (p *publisher) flush() {
	if len(p.ready) > 0 && time.Since(p.looked) > lookEvery {
		_ = p.look(p.life) // an error leaves the leaders as they were
	}
	for _, l := range p.ready {
		if !l.leader.busy {
			l.leader.busy = true
			go p.send(l.leader)
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
		outcomes := p.produce(to, groups)
		p.mu.Lock()
		for i, g := range groups {
			p.ended(g, outcomes[i])
		}
		p.flush() // for other brokers: a leader may have moved
		p.mu.Unlock()
	}
}

// next takes a group from each lane that is ready for a broker, as many as a request may hold. With none the broker is not busy
// any more.
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
	to.busy = len(groups) > 0
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
	ctx, cancel := context.WithTimeout(p.life, p.timeout)
	defer cancel()
	request := &rawproduce.Request{Acks: allReplicas, Timeout: int32(p.timeout.Milliseconds())}
	now := time.Now()
	for _, g := range groups {
		i := slices.IndexFunc(request.Topics, func(t rawproduce.RequestTopic) bool { return t.Topic == g.lane.topic })
		if i < 0 {
			i = len(request.Topics)
			request.Topics = append(request.Topics, rawproduce.RequestTopic{Topic: g.lane.topic})
		}
		request.Topics[i].Partitions = append(request.Topics[i].Partitions, rawproduce.RequestPartition{
			Partition: g.lane.partition, RecordSet: protocol.RawRecordSet{Reader: bytes.NewReader(g.sealed(now))},
		})
	}
	response, err := p.transport.RoundTrip(ctx, p.addr, request) // to the leader that the transport knows: the same, or an error
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
	response, err := p.transport.RoundTrip(ctx, p.addr, &metadata.Request{TopicNames: p.transport.MetadataTopics})
	if err != nil {
		return err
	}
	known := response.(*metadata.Response)
	for _, b := range known.Brokers {
		if p.brokers[b.NodeID] == nil {
			p.brokers[b.NodeID] = &broker{}
		}
	}
	for _, t := range known.Topics {
		for _, found := range t.Partitions {
			if int(found.PartitionIndex) >= len(p.lanes[t.Name]) {
				continue // added later: see spread
			}
			l := p.lanes[t.Name][found.PartitionIndex]
			l.leader = &p.nobody
			if slices.ContainsFunc(known.Brokers, func(b metadata.ResponseBroker) bool { return b.NodeID == found.LeaderID }) {
				l.leader = p.brokers[found.LeaderID]
			}
		}
	}
	return nil
}
