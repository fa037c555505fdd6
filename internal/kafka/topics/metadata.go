package topics

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/dial"
	retries "footfall/internal/retry"
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

// Reach returns nil if a broker answers. It asks once, and does not wait for a broker that is just starting.
func Reach(ctx context.Context, via dial.Kafka) error {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	_, err := look(ctx, via, nil)
	switch err = dial.MarkFinal(err); {
	case err == nil:
		return nil
	case retries.IsFinal(err): // it runs, and refuses us
		return fmt.Errorf("asking Kafka at %s: %w", strings.Join(via.Brokers, ", "), err)
	}
	return fmt.Errorf("asking Kafka at %s: %w (%s)", strings.Join(via.Brokers, ", "), err, askBack)
}

// askBack ends errors about a Kafka that does not answer.
const askBack = "is Kafka running there? see kafka.brokers, and kafka.tls and kafka.sasl if it asks for more"

// retry calls do until it succeeds, fails with an error that retrying does not resolve or because a topic is missing, or until patience is over or ctx ends.
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
		case errors.Is(err, ErrMissing): // others may create it: the caller knows whether to wait for that
			return fmt.Errorf("%s: %w", what, err)
		case retries.IsFinal(dial.MarkFinal(err)):
			return fmt.Errorf("%s: %w", what, dial.MarkFinal(err))
		case ctx.Err() == nil || last == nil:
			last = err // else ctx cut the attempt short, and err says nothing about the broker
		}
		if retries.Sleep(ctx, pause) != nil {
			return fmt.Errorf("%s: %w (%s)", what, last, askBack)
		}
	}
}
