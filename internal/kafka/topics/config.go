package topics

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/dial"
)

// Config reads these settings of a topic: its own, else the broker's defaults. Like Ensure it waits for a broker that is just starting. If the
// broker does not allow it, the error wraps kafka.TopicAuthorizationFailed or kafka.ClusterAuthorizationFailed.
func Config(ctx context.Context, via dial.Kafka, topic string, names ...string) (map[string]string, error) {
	found := map[string]string{}
	what := fmt.Sprintf("asking for the configuration of %s on %s", topic, strings.Join(via.Brokers, ", "))
	err := retry(ctx, what, func(ctx context.Context) error {
		entries, err := describe(ctx, via, topic, names)
		for _, e := range entries {
			found[e.ConfigName] = e.ConfigValue
		}
		return err
	})
	return found, err
}

// describe reads settings of a topic; nil: all.
func describe(ctx context.Context, via dial.Kafka, topic string, names []string) (entries []kafka.DescribeConfigResponseConfigEntry, err error) {
	client, done := connect(via, []string{topic})
	defer done()
	answer, err := client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
		Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, ConfigNames: names}},
	})
	if err != nil {
		return nil, err
	}
	for _, r := range answer.Resources {
		entries, err = append(entries, r.ConfigEntries...), errors.Join(err, r.Error)
	}
	return entries, err
}

// SetConfig sets a setting of topics. Like Ensure it waits for a broker that is just starting.
func SetConfig(ctx context.Context, via dial.Kafka, names []string, setting, value string) error {
	request := &kafka.IncrementalAlterConfigsRequest{}
	for _, topic := range names {
		request.Resources = append(request.Resources, kafka.IncrementalAlterConfigsRequestResource{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: setting, Value: value}},
		})
	}
	what := fmt.Sprintf("setting %s of %s to %s", setting, strings.Join(names, ", "), value)
	return retry(ctx, what, func(ctx context.Context) error {
		client, done := connect(via, names)
		defer done()
		answer, err := client.IncrementalAlterConfigs(ctx, request)
		if err != nil {
			return err
		}
		for _, r := range answer.Resources {
			err = errors.Join(err, r.Error)
		}
		return err
	})
}
