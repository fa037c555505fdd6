package e2e

import (
	"context"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
)

// broker talks to Kafka from outside the product: what is in a topic, what the group has committed.
type broker struct {
	client *kafka.Client
	group  string
	topics []string // of events
	dead   string
}

func newBroker(address, group, dead string, topics ...string) *broker {
	client := &kafka.Client{Addr: kafka.TCP(address), Timeout: 10 * time.Second, Transport: &kafka.Transport{}}
	return &broker{client: client, group: group, topics: topics, dead: dead}
}

// partition is one partition of a topic.
type partition struct {
	topic  string
	number int
}

// partitions lists those of the topics.
func (b *broker) partitions(ctx context.Context, topics ...string) (map[string][]int, error) {
	meta, err := b.client.Metadata(ctx, &kafka.MetadataRequest{Topics: topics})
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

// ends are the offsets after the last messages.
func (b *broker) ends(ctx context.Context, topics ...string) (map[partition]int64, error) {
	all, err := b.partitions(ctx, topics...)
	if err != nil {
		return nil, err
	}
	ask := map[string][]kafka.OffsetRequest{}
	for topic, list := range all {
		for _, p := range list {
			ask[topic] = append(ask[topic], kafka.LastOffsetOf(p))
		}
	}
	answer, err := b.client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: ask})
	if err != nil {
		return nil, fmt.Errorf("asking for the ends of topics: %w", err)
	}
	ends := map[partition]int64{}
	for topic, list := range answer.Topics {
		for _, p := range list {
			if p.Error != nil {
				return nil, fmt.Errorf("asking for the end of %s %d: %w", topic, p.Partition, p.Error)
			}
			ends[partition{topic, p.Partition}] = p.LastOffset
		}
	}
	return ends, nil
}

// committed are the group's offsets, 0 where it has none.
func (b *broker) committed(ctx context.Context) (map[partition]int64, error) {
	ask, err := b.partitions(ctx, b.topics...)
	if err != nil {
		return nil, err
	}
	answer, err := b.client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: b.group, Topics: ask})
	if err != nil {
		return nil, fmt.Errorf("asking for committed offsets: %w", err)
	}
	if answer.Error != nil {
		return nil, fmt.Errorf("asking for committed offsets: %w", answer.Error)
	}
	out := map[partition]int64{}
	for topic, list := range answer.Topics {
		for _, p := range list {
			if p.Error != nil {
				return nil, fmt.Errorf("asking for the committed offset of %s %d: %w", topic, p.Partition, p.Error)
			}
			out[partition{topic, p.Partition}] = max(p.CommittedOffset, 0)
		}
	}
	return out, nil
}

// lag is how many messages the group has not committed.
func (b *broker) lag(ctx context.Context) (int64, error) {
	ends, err := b.ends(ctx, b.topics...)
	if err != nil {
		return 0, err
	}
	committed, err := b.committed(ctx)
	if err != nil {
		return 0, err
	}
	lag := int64(0)
	for p, end := range ends {
		lag += end - committed[p]
	}
	return lag, nil
}
