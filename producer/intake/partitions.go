package intake

import (
	"context"

	"github.com/segmentio/kafka-go"

	"footfall/producer/dial"
	"footfall/producer/topics"
)

// spread picks the partition of an event as Java clients do: Murmur2 of the key, over the partitions that the topic had
// when the door opened. The count stays fixed while the door is open, or a visitor would be decided by two consumers:
// partitions that somebody adds later are not used, and a broker that for a moment knows fewer does not move anybody.
type spread map[string][]int

// fixPartitions looks up the partitions of the topics.
func fixPartitions(ctx context.Context, via dial.Kafka, names []string) (spread, error) {
	s := spread{}
	for _, name := range names {
		n, err := topics.Partitions(ctx, via, name)
		if err != nil {
			return nil, err
		}
		for i := range n {
			s[name] = append(s[name], i)
		}
	}
	return s, nil
}

// Balance implements kafka.Balancer.
func (s spread) Balance(m kafka.Message, _ ...int) int {
	return kafka.Murmur2Balancer{Consistent: true}.Balance(m, s[m.Topic]...)
}
