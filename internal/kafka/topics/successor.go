package topics

import (
	"context"
	"fmt"
	"slices"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/dial"
)

// ownConfig is the source of a value that was set for the topic itself, in DescribeConfigs.
const ownConfig = 1

// CreateLike creates a topic with that many partitions, and with the replication factor and the topic configuration of model, except its seal.
// It leaves an existing topic as it is. Like Ensure it waits for brokers and leaders.
func CreateLike(ctx context.Context, via dial.Kafka, topic, model string, partitions int) error {
	return createLike(ctx, via, topic, model, partitions, func(own []kafka.ConfigEntry) []kafka.ConfigEntry { return own })
}

// EnsureCompacted creates a topic of one partition of which Kafka keeps the last message of every key (cleanup.policy=compact), with as many replicas
// as model has, and its min.insync.replicas. It leaves an existing topic as it is. Like Ensure it waits for brokers and leaders.
func EnsureCompacted(ctx context.Context, via dial.Kafka, topic, model string) error {
	return createLike(ctx, via, topic, model, 1, func(own []kafka.ConfigEntry) []kafka.ConfigEntry {
		own = slices.DeleteFunc(own, func(e kafka.ConfigEntry) bool { return e.ConfigName != "min.insync.replicas" })
		return append(own, kafka.ConfigEntry{ConfigName: "cleanup.policy", ConfigValue: "compact"})
	})
}

// createLike creates a topic with the configuration that adjust makes of model's own.
func createLike(ctx context.Context, via dial.Kafka, topic, model string, partitions int, adjust func(own []kafka.ConfigEntry) []kafka.ConfigEntry) error {
	return retry(ctx, fmt.Sprintf("creating topic %s like %s", topic, model), func(ctx context.Context) error {
		missing, err := inspect(ctx, via, []string{topic})
		if err != nil || len(missing) == 0 {
			return err
		}
		config, err := configLike(ctx, via, topic, model, partitions)
		if err != nil {
			return err
		}
		config.ConfigEntries = adjust(config.ConfigEntries)
		return createTopics(ctx, via, config)
	})
}

func configLike(ctx context.Context, via dial.Kafka, topic, model string, partitions int) (kafka.TopicConfig, error) {
	config := kafka.TopicConfig{Topic: topic, NumPartitions: partitions, ReplicationFactor: -1}
	found, err := look(ctx, via, []string{model})
	if err != nil {
		return config, err
	}
	if len(found[0].Partitions) > 0 {
		config.ReplicationFactor = len(found[0].Partitions[0].Replicas)
	}
	entries, err := describe(ctx, via, model, nil)
	for _, e := range entries {
		if seal := e.ConfigName == sealedBy && e.ConfigValue == sealed; e.ConfigSource == ownConfig && !seal {
			config.ConfigEntries = append(config.ConfigEntries, kafka.ConfigEntry{ConfigName: e.ConfigName, ConfigValue: e.ConfigValue})
		}
	}
	return config, err
}
