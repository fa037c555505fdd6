package eventlog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/topics"
	"footfall/models"
)

// RepairTime is how much longer than duplicates.age Kafka has to keep events: doubts about them may take that long.
const RepairTime = time.Hour

// checkRetention refuses a topic that loses events which are still needed, and warns where that cannot be told.
func (l *Log) checkRetention(ctx context.Context, topic string) error {
	config, err := topics.Config(ctx, l.Kafka, topic, "cleanup.policy", "retention.ms", "retention.bytes")
	if errors.Is(err, kafka.TopicAuthorizationFailed) || errors.Is(err, kafka.ClusterAuthorizationFailed) {
		l.Logger.Warn("the broker does not tell how long it keeps events: allow DescribeConfigs on the topic, or see to it that it is not"+
			" compacted and keeps them for duplicates.age and an hour", "topic", topic, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	if limit := config["retention.bytes"]; limit != "" && limit != "-1" {
		l.Logger.Warn("the topic is cut by size: events may go before they are counted, or ids while they may come again; retention.bytes=-1"+
			" keeps them for retention.ms", "topic", topic, "retention_bytes", limit)
	}
	base, _ := models.SplitGeneration(topic)
	if ttl := l.Config.Visitors.IPTTL; ttl > 0 && base == l.Config.Kafka.Topics.Clicks {
		if err := outlives(topic, config, ttl); err != nil {
			return err
		}
	}
	return forgets(topic, config, l.Config.Duplicates.Age+RepairTime)
}

// outlives is the error about clicks that Kafka keeps for longer than rows of their visitors stay after their period. Whoever reads such
// a click again would not find out that it was not the visitor's first.
func outlives(topic string, config map[string]string, ttl time.Duration) error {
	ms, told, err := retentionMS(topic, config)
	if !told || err != nil {
		return err
	}
	if most := ttl - RepairTime; ms < 0 || ms > most.Milliseconds() {
		return fmt.Errorf("topic %s keeps its events for %d ms (-1: for ever), but rows of their visitors may go %v after their period:"+
			" set visitors.ip_ttl to more than that, an hour and the doors' time.max_age, or to 0s", topic, ms, ttl)
	}
	return nil
}

// forgets is the error about a topic that is configured to lose events before they are as old as needed.
func forgets(topic string, config map[string]string, needed time.Duration) error {
	mend := func(setting string) string {
		return fmt.Sprintf("kafka-configs.sh --alter --entity-type topics --entity-name %s --add-config %s", topic, setting)
	}
	if policy := config["cleanup.policy"]; strings.Contains(policy, "compact") {
		return fmt.Errorf("topic %s has cleanup.policy=%s: Kafka keeps each visitor's last event only, and what it removes is not"+
			" counted: %s; what was removed so far is gone", topic, policy, mend("cleanup.policy=delete"))
	}
	ms, told, err := retentionMS(topic, config)
	if !told || err != nil {
		return err
	}
	if kept := time.Duration(ms) * time.Millisecond; ms >= 0 && ms < needed.Milliseconds() {
		return fmt.Errorf("topic %s keeps its events for %v, but ids are looked for, and doubts settled, within %v (duplicates.age and"+
			" an hour): %s", topic, kept, needed, mend(fmt.Sprintf("retention.ms=%d", needed.Milliseconds())))
	}
	return nil
}

// retentionMS is how long a topic keeps its events, -1 for ever, if the broker tells.
func retentionMS(topic string, config map[string]string) (ms int64, told bool, err error) {
	text, told := config["retention.ms"]
	if !told {
		return 0, false, nil
	}
	if ms, err = strconv.ParseInt(text, 10, 64); err != nil {
		err = fmt.Errorf("topic %s has retention.ms %q: %w", topic, text, err)
	}
	return ms, true, err
}
