package intake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

	nobody = -1 // leads a partition
	all    = -1 // in-sync replicas must have an event before Kafka acknowledges it
)

// broker is one that leads partitions. It has one request under way at a time, and what comes meanwhile shares the next.
type broker struct {
	busy  bool
	next  []*group // of the request that is being made
	bytes int
}

// flush sends what is ready to every broker that has no request under way. The caller holds mu.
func (p *publisher) flush() {
	if len(p.ready) == 0 {
		return
	}
	if now := time.Now(); now.Sub(p.looked) > lookEvery {
		_ = p.look(p.life) // an error leaves the leaders as they were
	}
	var leaderless []*lane
	made, later := false, p.ready[:0]
	for _, l := range p.ready {
		b := p.brokers[l.leader]
		switch {
		case b == nil:
			leaderless = append(leaderless, l)
		case b.busy || b.bytes > maxRequest:
			later = append(later, l)
		default:
			g := l.take()
			b.next, b.bytes, made = append(b.next, g), b.bytes+len(g.bytes), true
		}
	}
	clear(p.ready[len(later):])
	p.ready = later
	if made {
		for _, b := range p.brokers {
			if len(b.next) > 0 {
				b.busy = true
				go p.send(b, b.next)
				b.next, b.bytes = nil, 0
			}
		}
	}
	for _, l := range leaderless {
		p.ended(l.take(), kafka.LeaderNotAvailable)
	}
	if len(leaderless) > 0 {
		p.flush() // what was too old is gone, what comes after it may be ready
	}
}

// send writes groups to their broker, and when it has answered sends on what has come meanwhile.
func (p *publisher) send(b *broker, groups []*group) {
	outcomes := p.produce(groups)
	p.mu.Lock()
	defer p.mu.Unlock()
	b.busy = false
	for i, g := range groups {
		p.ended(g, outcomes[i])
	}
	p.flush()
}

// produce makes one request of groups that have the same leader, each of another partition, and tells what became of each.
func (p *publisher) produce(groups []*group) []error {
	ctx, cancel := context.WithTimeout(p.life, p.timeout)
	defer cancel()
	request := &rawproduce.Request{Acks: all, Timeout: int32(p.timeout.Milliseconds())}
	now := time.Now()
	for _, g := range groups {
		var topic *rawproduce.RequestTopic
		for i := range request.Topics {
			if request.Topics[i].Topic == g.lane.topic {
				topic = &request.Topics[i]
			}
		}
		if topic == nil {
			request.Topics = append(request.Topics, rawproduce.RequestTopic{Topic: g.lane.topic})
			topic = &request.Topics[len(request.Topics)-1]
		}
		topic.Partitions = append(topic.Partitions, rawproduce.RequestPartition{
			Partition: g.lane.partition, RecordSet: protocol.RawRecordSet{Reader: bytes.NewReader(g.sealed(now))},
		})
	}
	response, err := p.transport.RoundTrip(ctx, p.addr, request)
	outcomes := make([]error, len(groups))
	for i, g := range groups {
		if outcomes[i] = err; err == nil {
			outcomes[i] = outcomeOf(response.(*produce.Response), g.lane)
		}
	}
	return outcomes
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
	return errors.New("Kafka's answer does not name the partition")
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
		lanes := p.lanes[t.Name]
		for _, part := range t.Partitions {
			if int(part.PartitionIndex) < len(lanes) {
				lanes[part.PartitionIndex].leader = part.LeaderID
			}
		}
	}
	return nil
}
