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

// RepairTime is how much longer than duplicates.age Kafka has to keep events: settling a doubt may take that long.
const RepairTime = time.Hour

// checkRetention refuses a topic that is configured to delete events which are still needed. It warns where it cannot know.
func (l *Log) checkRetention(ctx context.Context, topic string) error {
	config, err := topics.Config(ctx, l.Kafka, topic, "cleanup.policy", "retention.ms", "retention.bytes")
	if errors.Is(err, kafka.TopicAuthorizationFailed) || errors.Is(err, kafka.ClusterAuthorizationFailed) {
		l.Logger.Warn("the consumer may not read the topic's retention: allow DescribeConfigs on the topic, or make sure that it is not"+
			" compacted and that its retention.ms is at least duplicates.age plus an hour", "topic", topic, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	if limit := config["retention.bytes"]; limit != "" && limit != "-1" {
		l.Logger.Warn("the topic has a size limit: Kafka may delete events before they are counted, or ids younger than duplicates.age; set"+
			" retention.bytes=-1, so that retention.ms alone decides", "topic", topic, "retention_bytes", limit)
	}
	base, _ := models.SplitGeneration(topic)
	if ttl := l.Config.Visitors.IPTTL; ttl > 0 && base == l.Config.Kafka.Topics.Clicks {
		if err := checkVisitorTTL(topic, config, ttl); err != nil {
			return err
		}
	}
	return checkKept(topic, config, l.Config.Duplicates.Age+RepairTime)
}

// checkVisitorTTL refuses a topic that keeps clicks for longer than the store keeps their visitors' rows. A repair that reads such a click
// again would count it as the visitor's first.
func checkVisitorTTL(topic string, config map[string]string, ttl time.Duration) error {
	ms, told, err := retentionMS(topic, config)
	if !told || err != nil {
		return err
	}
	if most := ttl - RepairTime; ms < 0 || ms > most.Milliseconds() {
		return fmt.Errorf("topic %s keeps its events for %d ms (-1: for ever), but rows of their visitors may go %v after their period:"+
			" set visitors.ip_ttl to more than retention, an hour and the producers' time.max_age together, or to 0s", topic, ms, ttl)
	}
	return nil
}

// checkKept refuses a topic that is compacted, or that keeps events for a shorter time than needed.
func checkKept(topic string, config map[string]string, needed time.Duration) error {
	command := func(setting string) string {
		return fmt.Sprintf("kafka-configs.sh --alter --entity-type topics --entity-name %s --add-config %s", topic, setting)
	}
	if policy := config["cleanup.policy"]; strings.Contains(policy, "compact") {
		return fmt.Errorf("topic %s has cleanup.policy=%s: Kafka keeps each visitor's last event only, so others are not counted:"+
			" run %s; what Kafka has removed so far is lost", topic, policy, command("cleanup.policy=delete"))
	}
	ms, told, err := retentionMS(topic, config)
	if !told || err != nil {
		return err
	}
	if kept := time.Duration(ms) * time.Millisecond; ms >= 0 && ms < needed.Milliseconds() {
		return fmt.Errorf("topic %s keeps its events for %v, but ids are looked for, and doubts settled, within %v (duplicates.age plus"+
			" an hour): run %s", topic, kept, needed, command(fmt.Sprintf("retention.ms=%d", needed.Milliseconds())))
	}
	return nil
}

// retentionMS is the topic's retention.ms; -1: for ever. told is false if config lacks it.
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
