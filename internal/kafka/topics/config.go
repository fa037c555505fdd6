package topics

import (
	"context"
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
		client, done := connect(via, []string{topic})
		defer done()
		answer, err := client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
			Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, ConfigNames: names}},
		})
		if err != nil {
			return err
		}
		for _, r := range answer.Resources {
			if r.Error != nil {
				return r.Error
			}
			for _, entry := range r.ConfigEntries {
				found[entry.ConfigName] = entry.ConfigValue
			}
		}
		return nil
	})
	return found, err
}
