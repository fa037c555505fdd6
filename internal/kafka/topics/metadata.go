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

// Partitions returns how many partitions a topic has. Like Ensure it waits for a broker that is just starting. If the topic does not exist, the
// error wraps ErrMissing.
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

// Check returns nil if the topics exist and every partition has a leader. It asks once and does not wait for a broker; bound it with ctx.
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

// connect makes a client with an empty metadata cache: kafka-go answers metadata requests from it, so an older client may be out of date.
func connect(via dial.Kafka, names []string) (client *kafka.Client, done func()) {
	transport := via.Transport()
	transport.MetadataTopics, transport.DialTimeout = names, attempt
	return &kafka.Client{Addr: via.Addr(), Transport: transport}, transport.CloseIdleConnections
}

// look asks a broker for the metadata of topics. They come in the order of names; nil: all topics.
func look(ctx context.Context, via dial.Kafka, names []string) ([]kafka.Topic, error) {
	client, done := connect(via, names)
	defer done()
	response, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: names})
	if err != nil {
		return nil, fmt.Errorf("asking for metadata: %w", err)
	}
	return response.Topics, nil
}

// hopeless are errors that retrying does not resolve. All others may be temporary: a starting broker refuses connections, then has no leaders,
// then too few brokers for the replicas.
var hopeless = []error{
	ErrMissing,
	kafka.InvalidTopic, kafka.InvalidPartitionNumber, kafka.PolicyViolation, kafka.UnsupportedVersion,
	kafka.TopicAuthorizationFailed, kafka.ClusterAuthorizationFailed, kafka.SASLAuthenticationFailed, kafka.UnsupportedSASLMechanism,
}

// isHopeless tells whether an error is one of hopeless, or about a certificate that is not trusted.
func isHopeless(err error) bool {
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &untrusted) || slices.ContainsFunc(hopeless, func(h error) bool { return errors.Is(err, h) })
}

// retry calls do until it succeeds or fails with a hopeless error, or until patience is over or ctx ends.
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
			last = err // else ctx cut the attempt short, and err says nothing about the broker
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w (is Kafka running there? see kafka.brokers, and kafka.tls and kafka.sasl if it asks for more)", what, last)
		case <-time.After(pause):
		}
	}
}
