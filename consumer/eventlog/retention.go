package eventlog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/eventlog/kept"
	"footfall/internal/kafka/topics"
	"footfall/models"
)

// RepairTime is kept.RepairTime.
const RepairTime = kept.RepairTime

// checkRetention refuses a topic that is configured to delete events which are still needed. It warns where it cannot know.
func (l *Log) checkRetention(ctx context.Context, topic string) error {
	problems, err := l.KeptProblems(ctx, topic)
	for _, p := range problems {
		if p.Refused {
			return Refuse("%s: %s", p.What, p.Remedy)
		}
		l.Logger.Warn(p.What+": "+p.Remedy, append([]any{"topic", topic}, p.Attrs...)...)
	}
	return err
}

// KeptProblems reads a topic's configuration, and says what of it deletes, or may delete, events that are still needed.
func (l *Log) KeptProblems(ctx context.Context, topic string) ([]kept.Problem, error) {
	config, err := topics.Config(ctx, l.Kafka, topic, kept.CleanupPolicy, kept.RetentionTime, kept.RetentionBytes, kept.TimestampType, kept.TimestampAfter)
	if errors.Is(err, kafka.TopicAuthorizationFailed) || errors.Is(err, kafka.ClusterAuthorizationFailed) {
		return []kept.Problem{{Setting: kept.RetentionTime, What: "the consumer may not read the topic's retention", Remedy: "allow DescribeConfigs on the topic, or" +
			" make sure that it is not compacted and that its retention.ms is at least duplicates.age plus an hour", Attrs: []any{"error", err}}}, nil
	}
	if err != nil {
		return nil, err
	}
	base, _ := models.SplitGeneration(topic)
	ttl := l.Config.Visitors.IPTTL
	if base != l.Config.Kafka.Topics.Clicks {
		ttl = 0
	}
	return kept.Judge(topic, config, l.Config.Duplicates.Age+RepairTime, ttl)
}

// Retention is how long Kafka keeps the events of a topic; negative: for ever. It returns an error if the broker does not tell.
func (l *Log) Retention(ctx context.Context, topic string) (time.Duration, error) {
	config, err := topics.Config(ctx, l.Kafka, topic, kept.RetentionTime)
	if err != nil {
		return 0, err
	}
	ms, told, err := kept.Retention(topic, config)
	if err == nil && !told {
		err = fmt.Errorf("asking for the retention of topic %s: Kafka does not tell retention.ms", topic)
	}
	if ms > math.MaxInt64/int64(time.Millisecond) { // some write it so
		ms = -1
	}
	return time.Duration(ms) * time.Millisecond, err
}
