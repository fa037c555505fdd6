// Package broker reads and writes Kafka without the product: what is in the topics, what the group has committed, and messages that the
// producer would refuse.
package broker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

// Broker is one Kafka, or a cluster of several, with the topics and the group of one deployment. Safe for concurrent use.
type Broker struct {
	Client *kafka.Client
	Group  string
	Topics []string // of events
	Dead   string
}

// New makes a client for the broker at address, with connections of its own. A cluster has several addresses, with commas between them.
func New(address, group, dead string, topics ...string) *Broker {
	client := &kafka.Client{Addr: kafka.TCP(strings.Split(address, ",")...), Timeout: 10 * time.Second, Transport: &kafka.Transport{}}
	return &Broker{Client: client, Group: group, Topics: topics, Dead: dead}
}

// Partition is one partition of a topic.
type Partition struct {
	Topic  string
	Number int
}

// Partitions lists the partitions of the topics.
func (b *Broker) Partitions(ctx context.Context, topics ...string) (map[string][]int, error) {
	meta, err := b.Client.Metadata(ctx, &kafka.MetadataRequest{Topics: topics})
	if err != nil {
		return nil, fmt.Errorf("asking for partitions: %w", err)
	}
	out := map[string][]int{}
	for _, topic := range meta.Topics {
		if topic.Error != nil {
			return nil, fmt.Errorf("asking for the partitions of %s: %w", topic.Name, topic.Error)
		}
		for _, p := range topic.Partitions {
			out[topic.Name] = append(out[topic.Name], p.ID)
		}
	}
	return out, nil
}

// Ends are the offsets after the last messages.
func (b *Broker) Ends(ctx context.Context, topics ...string) (map[Partition]int64, error) {
	all, err := b.Partitions(ctx, topics...)
	if err != nil {
		return nil, err
	}
	ask := map[string][]kafka.OffsetRequest{}
	for topic, list := range all {
		for _, p := range list {
			ask[topic] = append(ask[topic], kafka.LastOffsetOf(p))
		}
	}
	answer, err := b.Client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: ask})
	if err != nil {
		return nil, fmt.Errorf("asking for the ends of topics: %w", err)
	}
	ends := map[Partition]int64{}
	for topic, list := range answer.Topics {
		for _, p := range list {
			if p.Error != nil {
				return nil, fmt.Errorf("asking for the end of %s %d: %w", topic, p.Partition, p.Error)
			}
			ends[Partition{topic, p.Partition}] = p.LastOffset
		}
	}
	return ends, nil
}

// Committed are the group's offsets, 0 where it has none.
func (b *Broker) Committed(ctx context.Context) (map[Partition]int64, error) {
	ask, err := b.Partitions(ctx, b.Topics...)
	if err != nil {
		return nil, err
	}
	answer, err := b.Client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: b.Group, Topics: ask})
	if err != nil {
		return nil, fmt.Errorf("asking for committed offsets: %w", err)
	}
	if answer.Error != nil {
		return nil, fmt.Errorf("asking for committed offsets: %w", answer.Error)
	}
	out := map[Partition]int64{}
	for topic, list := range answer.Topics {
		for _, p := range list {
			if p.Error != nil {
				return nil, fmt.Errorf("asking for the committed offset of %s %d: %w", topic, p.Partition, p.Error)
			}
			out[Partition{topic, p.Partition}] = max(p.CommittedOffset, 0)
		}
	}
	return out, nil
}

// Lag is how many messages the group has not committed.
func (b *Broker) Lag(ctx context.Context) (int64, error) {
	ends, err := b.Ends(ctx, b.Topics...)
	if err != nil {
		return 0, err
	}
	committed, err := b.Committed(ctx)
	if err != nil {
		return 0, err
	}
	lag := int64(0)
	for p, end := range ends {
		lag += end - committed[p]
	}
	return lag, nil
}

// Members is how many members the group has. It is an error if the group is not stable or a member has no partitions yet.
func (b *Broker) Members(ctx context.Context) (int, error) {
	answer, err := b.Client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{b.Group}})
	if err != nil {
		return 0, fmt.Errorf("asking for the group: %w", err)
	}
	group := answer.Groups[0]
	if group.Error != nil {
		return 0, fmt.Errorf("asking for the group: %w", group.Error)
	}
	if group.GroupState != "Stable" {
		return 0, fmt.Errorf("the group is %q with %d members", group.GroupState, len(group.Members))
	}
	for _, m := range group.Members {
		if len(m.MemberAssignments.Topics) == 0 {
			return 0, fmt.Errorf("member %s has no partitions", m.MemberID)
		}
	}
	return len(group.Members), nil
}

// Remove deletes the topics and the group.
func (b *Broker) Remove(ctx context.Context) error {
	_, err := b.Client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: append(b.Topics, b.Dead)})
	if err != nil {
		return fmt.Errorf("deleting topics: %w", err)
	}
	if _, err := b.Client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{b.Group}}); err != nil {
		return fmt.Errorf("deleting the group: %w", err)
	}
	return nil
}
