package topics

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/dial"
)

// Partitions says how many partitions a topic has. Like Ensure it waits for a broker that is just starting; the error
// about a topic that is not there wraps ErrMissing.
func Partitions(ctx context.Context, via dial.Kafka, topic string) (int, error) {
	var n int
	what := fmt.Sprintf("counting the partitions of %s on %s", topic, strings.Join(via.Brokers, ", "))
	err := retry(ctx, what, func(ctx context.Context) error {
		found, err := look(ctx, via, []string{topic})
		if err != nil {
			return err
		}
		if errors.Is(found[0].Error, kafka.UnknownTopicOrPartition) {
			return fmt.Errorf("%s: %w", topic, ErrMissing)
		}
		n = len(found[0].Partitions)
		return found[0].Error
	})
	return n, err
}

// Check looks once whether the topics are there and can be written to: brokers reachable, a leader for every partition.
// It does not wait for anything but the answer; bound it with ctx.
func Check(ctx context.Context, via dial.Kafka, names []string) error {
	missing, err := inspect(ctx, via, names)
	switch {
	case err != nil:
		return fmt.Errorf("checking topics: %w", err)
	case len(missing) > 0:
		return fmt.Errorf("checking topics: %s: %w", strings.Join(missing, ", "), ErrMissing)
	}
	return nil
}

// connect makes a client that knows nothing yet. kafka-go answers metadata requests from a cache, so whoever wants to
// know how things are now has to begin with an empty one.
func connect(via dial.Kafka, names []string) (client *kafka.Client, done func()) {
	transport := via.Transport()
	transport.MetadataTopics, transport.DialTimeout = names, attempt
	return &kafka.Client{Addr: via.Addr(), Transport: transport}, transport.CloseIdleConnections
}

// look asks a broker how the topics are, in the order of their names as given.
func look(ctx context.Context, via dial.Kafka, names []string) ([]kafka.Topic, error) {
	client, done := connect(via, names)
	defer done()
	response, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: names})
	if err != nil {
		return nil, fmt.Errorf("asking for metadata: %w", err)
	}
	return response.Topics, nil
}

// hopeless are the answers of a broker that asking again does not change. All others may be the state of a moment: a
// broker that starts refuses connections, then has no leaders, then too few brokers for the replicas.
var hopeless = []error{
	ErrMissing,
	kafka.InvalidTopic, kafka.InvalidPartitionNumber, kafka.PolicyViolation, kafka.UnsupportedVersion,
	kafka.TopicAuthorizationFailed, kafka.ClusterAuthorizationFailed, kafka.SASLAuthenticationFailed, kafka.UnsupportedSASLMechanism,
}

// isHopeless also counts a certificate that is not trusted: neither it nor our trust changes by waiting.
func isHopeless(err error) bool {
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &untrusted) || slices.ContainsFunc(hopeless, func(h error) bool { return errors.Is(err, h) })
}

// retry calls do until it succeeds or fails for good, or until patience or ctx is at an end.
func retry(ctx context.Context, what string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last error
	for {
		once, cancel := context.WithTimeout(ctx, attempt)
		err := do(once)
		cancel()
		switch {
		case err == nil:
			return nil
		case isHopeless(err):
			return fmt.Errorf("%s: %w", what, err)
		case ctx.Err() == nil || last == nil:
			last = err // the error of an attempt that ctx cut short says nothing about the broker
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w (is Kafka running there? see kafka.brokers, and kafka.tls and kafka.sasl if it asks for more)", what, last)
		case <-time.After(pause):
		}
	}
}
