// Package topics makes sure that the Kafka topics are there before anybody writes to them or reads from them, and says
// how many partitions they have. The door, the consumers and the one-process default share it.
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
	// patience bounds how long a broker may be out of reach, without leaders or refusing for want of other brokers. One
	// that was just started needs about ten seconds.
	patience = 30 * time.Second

	// pause is the time between two looks at a broker that is not there yet.
	pause = 200 * time.Millisecond

	// attempt bounds one look, so that a broker that hangs is asked again.
	attempt = 5 * time.Second
)

// ErrMissing is wrapped by the error about a topic that does not exist.
var ErrMissing = errors.New("topic does not exist")

// Ensure returns nil when all topics exist and every partition of them has a leader. A topic that is missing is created
// with that many partitions and replicas (-1: the broker's default) if create is set; else Ensure fails with an error
// that wraps ErrMissing and says what to do. An existing topic is left as it is, whatever its partitions.
//
// It waits for a broker that is just starting, 30 seconds at the most, less if ctx ends. Any number of processes may do
// this at the same time.
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
		if err := createTopics(ctx, via, missing, partitions, replication); err != nil {
			return err
		}
		return errNotYet // created just now: look again until the leaders are known
	})
}

// errNotYet says that nothing is wrong but something has to happen first.
var errNotYet = errors.New("partitions have no leader yet")

// inspect finds the topics that are missing. It returns errNotYet if none is but some partition has no leader.
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
			if p.Leader.Host == "" { // p.Error may speak of a replica only, which stops nobody
				return nil, fmt.Errorf("topic %s, partition %d: %w", t.Name, p.ID, errNotYet)
			}
		}
	}
	return nil, nil
}

// createTopics asks for all the topics at once. An error is not the end: somebody else may have created one meanwhile,
// which the next look will show.
func createTopics(ctx context.Context, via dial.Kafka, names []string, partitions, replication int) error {
	client, done := connect(via, names)
	defer done()
	request := &kafka.CreateTopicsRequest{}
	for _, name := range names {
		request.Topics = append(request.Topics, kafka.TopicConfig{
			Topic: name, NumPartitions: partitions, ReplicationFactor: replication,
		})
	}
	response, err := client.CreateTopics(ctx, request)
	if err != nil {
		return fmt.Errorf("creating topics: %w", err)
	}
	for name, err := range response.Errors {
		if err != nil {
			return fmt.Errorf("creating topic %s with %d partitions and %d replicas: %w", name, partitions, replication, err)
		}
	}
	return nil
}

func missingError(brokers, missing []string, partitions, replication int) error {
	command := fmt.Sprintf("kafka-topics.sh --bootstrap-server %s --create --partitions %d", strings.Join(brokers, ","), partitions)
	if replication > 0 {
		command += fmt.Sprintf(" --replication-factor %d", replication)
	}
	return fmt.Errorf("%s: %w: set kafka.create_topics: true, or run `producer topics`, or create it: %s --topic %s",
		strings.Join(missing, ", "), ErrMissing, command, missing[0])
}
