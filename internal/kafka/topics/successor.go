package topics

import (
	"context"
	"errors"
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
	what := fmt.Sprintf("creating topic %s like %s", topic, model)
	return retry(ctx, what, func(ctx context.Context) error {
		missing, err := inspect(ctx, via, []string{topic})
		if err != nil || len(missing) == 0 {
			return err
		}
		config, err := configLike(ctx, via, topic, model, partitions)
		if err != nil {
			return err
		}
		return create(ctx, via, config)
	})
}

// create asks for a topic. It never returns nil: whoever retries looks again until the leaders are known.
func create(ctx context.Context, via dial.Kafka, config kafka.TopicConfig) error {
	client, done := connect(via, []string{config.Topic})
	defer done()
	answer, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{config}})
	if err != nil {
		return err
	}
	if err := answer.Errors[config.Topic]; err != nil && !errors.Is(err, kafka.TopicAlreadyExists) {
		return err
	}
	return errNotYet
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
	client, done := connect(via, []string{model})
	defer done()
	answer, err := client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
		Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: model}},
	})
	if err != nil {
		return config, err
	}
	for _, r := range answer.Resources {
		if r.Error != nil {
			return config, r.Error
		}
		for _, e := range r.ConfigEntries {
			if seal := e.ConfigName == sealedBy && e.ConfigValue == sealed; e.ConfigSource == ownConfig && !seal {
				config.ConfigEntries = append(config.ConfigEntries, kafka.ConfigEntry{ConfigName: e.ConfigName, ConfigValue: e.ConfigValue})
			}
		}
	}
	return config, nil
}

// EnsureCompacted creates a topic of one partition of which Kafka keeps the last message of every key (cleanup.policy=compact), with as many replicas
// as model has, and its min.insync.replicas. It leaves an existing topic as it is. Like Ensure it waits for brokers and leaders.
func EnsureCompacted(ctx context.Context, via dial.Kafka, topic, model string) error {
	return retry(ctx, "creating topic "+topic, func(ctx context.Context) error {
		missing, err := inspect(ctx, via, []string{topic})
		if err != nil || len(missing) == 0 {
			return err
		}
		config, err := configLike(ctx, via, topic, model, 1)
		if err != nil {
			return err
		}
		config.ConfigEntries = slices.DeleteFunc(config.ConfigEntries, func(e kafka.ConfigEntry) bool { return e.ConfigName != "min.insync.replicas" })
		config.ConfigEntries = append(config.ConfigEntries, kafka.ConfigEntry{ConfigName: "cleanup.policy", ConfigValue: "compact"})
		return create(ctx, via, config)
	})
}
