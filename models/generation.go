package models

import (
	"fmt"
	"strconv"
	"strings"
)

// A topic that gets another number of partitions goes on as a new Kafka topic, its next generation: visits, visits-g2, visits-g3. The first
// generation has the name in the configuration, the base.

// GenerationTopic is the Kafka topic of a base's n-th generation, counted from 1.
func GenerationTopic(base string, n int) string {
	if n == 1 {
		return base
	}
	return fmt.Sprintf("%s-g%d", base, n)
}

// SplitGeneration is the inverse of GenerationTopic: the base and the generation of a Kafka topic.
func SplitGeneration(topic string) (base string, n int) {
	i := strings.LastIndex(topic, "-g")
	if i <= 0 {
		return topic, 1
	}
	n, err := strconv.Atoi(topic[i+2:])
	if err != nil || n < 2 || GenerationTopic(topic[:i], n) != topic {
		return topic, 1
	}
	return topic[:i], n
}
