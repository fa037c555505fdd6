package topics

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/dial"
)

// Probe is a message that a sealed topic rejects. A broker that does not know of the seal yet appends it: consumers skip it.
const Probe = "is this topic sealed?"

// The seal is a limit for messages that no message meets.
const (
	sealedBy = "max.message.bytes"
	sealed   = "1"
)

// Seal makes Kafka reject all further messages to a topic, and returns the end offset of each partition. When it returns, each leader has
// rejected a message for its size (MESSAGE_TOO_LARGE), and all that it had accepted is replicated. A broker that becomes leader later has the
// same configuration. Like Ensure it waits for partitions without a leader. It is idempotent.
func Seal(ctx context.Context, via dial.Kafka, topic string) (map[int]int64, error) {
	if err := SetConfig(ctx, via, []string{topic}, sealedBy, sealed); err != nil {
		return nil, err
	}
	n, err := Partitions(ctx, via, topic)
	if err != nil {
		return nil, err
	}
	for p := range n {
		what := fmt.Sprintf("sealing partition %d of %s on %s", p, topic, strings.Join(via.Brokers, ", "))
		if err := retry(ctx, what, func(ctx context.Context) error { return refuses(ctx, via, topic, p) }); err != nil {
			return nil, err
		}
	}
	return finalEnds(ctx, via, topic, n)
}

// Sealed tells whether a topic is sealed, or being sealed: Kafka rejects messages for their size then, however small they are.
func Sealed(ctx context.Context, via dial.Kafka, topic string) (bool, error) {
	config, err := Config(ctx, via, topic, sealedBy)
	return config[sealedBy] == sealed, err
}

// refuses returns nil if the partition's leader rejects a message for its size.
func refuses(ctx context.Context, via dial.Kafka, topic string, partition int) error {
	client, done := connect(via, []string{topic})
	defer done()
	answer, err := client.Produce(ctx, &kafka.ProduceRequest{
		Topic: topic, Partition: partition, RequiredAcks: kafka.RequireAll,
		Records: kafka.NewRecordReader(kafka.Record{Value: kafka.NewBytes([]byte(Probe))}),
	})
	if err == nil {
		err = answer.Error
	}
	switch {
	case errors.Is(err, kafka.MessageSizeTooLarge):
		return nil
	case err == nil:
		return fmt.Errorf("its leader still accepts messages: %w", errNotYet)
	}
	return err
}
