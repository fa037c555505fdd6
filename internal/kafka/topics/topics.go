// Package topics creates and seals Kafka topics, and reads their partitions, generations, settings and end offsets. Producers, consumers and
// the one-process default share it.
package topics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/dial"
)

const (
	// patience bounds how long a broker may be unreachable, without leaders, or without enough other brokers. A broker that was just started
	// needs about ten seconds.
	patience = 30 * time.Second

	// pause is the time between two attempts.
	pause = 200 * time.Millisecond

	// attempt bounds one attempt, so that a broker that hangs is asked again.
	attempt = 5 * time.Second
)

// ErrMissing is wrapped by the error about a topic that does not exist.
var ErrMissing = errors.New("topic does not exist")

// Ensure returns nil when all topics exist and every partition has a leader. If create is set, it creates missing topics with that many
// partitions and replicas (-1: the broker's default). Else it returns an error that wraps ErrMissing and says what to do. It leaves existing
// topics as they are, whatever their partitions.
//
// It waits for a broker that is just starting, for 30 seconds at most, less if ctx ends. Several processes may call it at the same time.
func Ensure(ctx context.Context, via dial.Kafka, names []string, partitions, replication int, create bool) error {
	what := fmt.Sprintf("checking the topics %s on %s", strings.Join(names, ", "), strings.Join(via.Brokers, ", "))
	return retry(ctx, what, func(ctx context.Context) error {
		missing, err := inspect(ctx, via, names)
		if err != nil || len(missing) == 0 {
			return err
		}
		if !create {
			return missingError(via.Brokers, missing, partitions, replication)
		}
		var configs []kafka.TopicConfig
		for _, name := range missing {
			configs = append(configs, kafka.TopicConfig{Topic: name, NumPartitions: partitions, ReplicationFactor: replication})
		}
		return createTopics(ctx, via, configs...)
	})
}

// errNotYet says that nothing is wrong, but that the cluster needs more time.
var errNotYet = errors.New("partitions have no leader yet")

// inspect finds the topics that are missing. If none is missing but a partition has no leader, the error wraps errNotYet.
func inspect(ctx context.Context, via dial.Kafka, names []string) (missing []string, err error) {
	found, err := look(ctx, via, names)
	if err != nil {
		return nil, err
	}
	for _, t := range found {
		switch {
		case errors.Is(t.Error, kafka.UnknownTopicOrPartition):
			missing = append(missing, t.Name)
		case t.Error != nil:
			return nil, fmt.Errorf("topic %s: %w", t.Name, t.Error)
		}
	}
	if len(missing) > 0 {
		return missing, nil
	}
	for _, t := range found {
		for _, p := range t.Partitions {
			if p.Leader.Host == "" { // not p.Error: that may be about a replica only
				return nil, fmt.Errorf("topic %s, partition %d: %w", t.Name, p.ID, errNotYet)
			}
		}
	}
	return nil, nil
}

// createTopics requests all topics at once. It never returns nil: whoever retries looks again until the leaders are known. Another process may have
// created one meanwhile.
func createTopics(ctx context.Context, via dial.Kafka, configs ...kafka.TopicConfig) error {
	var names []string
	for _, c := range configs {
		names = append(names, c.Topic)
	}
	client, done := connect(via, names)
	defer done()
	answer, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: configs})
	if err != nil {
		return fmt.Errorf("creating topics: %w", err)
	}
	for _, c := range configs {
		if err := answer.Errors[c.Topic]; err != nil && !errors.Is(err, kafka.TopicAlreadyExists) {
			return fmt.Errorf("creating topic %s with %d partitions and %d replicas: %w", c.Topic, c.NumPartitions, c.ReplicationFactor, err)
		}
	}
	return errNotYet
}

func missingError(brokers, missing []string, partitions, replication int) error {
	command := fmt.Sprintf("kafka-topics.sh --bootstrap-server %s --create --partitions %d", strings.Join(brokers, ","), partitions)
	if replication > 0 {
		command += fmt.Sprintf(" --replication-factor %d", replication)
	}
	return fmt.Errorf("%s: %w: set kafka.create_topics: true, or run `producer topics`, or create it: %s --topic %s",
		strings.Join(missing, ", "), ErrMissing, command, missing[0])
}
