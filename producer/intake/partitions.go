package intake

import "github.com/segmentio/kafka-go"

// spread picks the partition of an event as Java clients do: Murmur2 of the key, over the partitions that a generation of the
// topic had when the door began to write to it. The count stays fixed as long as it does, or a visitor would be decided by two
// consumers: partitions that somebody adds later are not used, and a broker that for a moment knows fewer does not move anybody.
type spread map[string][]int

// Balance implements kafka.Balancer.
func (s spread) Balance(m kafka.Message, _ ...int) int {
	return kafka.Murmur2Balancer{Consistent: true}.Balance(m, s[m.Topic]...)
}
