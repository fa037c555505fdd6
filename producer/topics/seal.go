package topics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/producer/dial"
)

// Probe is the message that a sealed topic has to refuse. One that lands, since its broker did not know of the seal yet, means nothing.
const Probe = "is this topic sealed?"

// A sealed topic takes no message that is longer than this, which is none.
const (
	sealedBy = "max.message.bytes"
	sealed   = "1"
)

// quiet is how long the ends of a sealed topic have to stay as they are. A write that its leader had let in before it knew of the seal is
// appended within that time.
const quiet = time.Second

// Seal lets a topic take no more messages, for good, and returns where each of its partitions ends. When it returns, the leader of each
// partition has refused a message for its size (MESSAGE_TOO_LARGE); one that becomes leader later has read the same configuration
// before. Replication goes on. Like Ensure it waits for partitions without a leader. To do it again does no harm.
func Seal(ctx context.Context, via dial.Kafka, topic string) (map[int]int64, error) {
	if err := setSeal(ctx, via, topic); err != nil {
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

func setSeal(ctx context.Context, via dial.Kafka, topic string) error {
	return retry(ctx, "sealing topic "+topic, func(ctx context.Context) error {
		client, done := connect(via, []string{topic})
		defer done()
		answer, err := client.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
			Resources: []kafka.IncrementalAlterConfigsRequestResource{{
				ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
				Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: sealedBy, Value: sealed}},
			}},
		})
		if err != nil {
			return fmt.Errorf("setting %s to %s: %w", sealedBy, sealed, err)
		}
		for _, r := range answer.Resources {
			err = errors.Join(err, r.Error)
		}
		return err
	})
}

// refuses is nil if the partition's leader refused a message for its size.
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
		return fmt.Errorf("its leader still takes messages: %w", errNotYet)
	}
	return err
}

// finalEnds are the ends of a sealed topic, when they stayed as they are for a while.
func finalEnds(ctx context.Context, via dial.Kafka, topic string, n int) (map[int]int64, error) {
	var last map[int]int64
	for {
		var ends map[int]int64
		err := retry(ctx, "asking for the ends of "+topic, func(ctx context.Context) (err error) {
			ends, err = Ends(ctx, via, topic, n)
			return err
		})
		if err != nil || maps.Equal(ends, last) {
			return ends, err
		}
		last = ends
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(quiet):
		}
	}
}

// Ends asks once for the offsets behind the last messages of a topic's first n partitions.
func Ends(ctx context.Context, via dial.Kafka, topic string, n int) (map[int]int64, error) {
	request := kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{}}
	for p := range n {
		request.Topics[topic] = append(request.Topics[topic], kafka.LastOffsetOf(p))
	}
	answer, err := via.Client(attempt).ListOffsets(ctx, &request)
	if err != nil {
		return nil, fmt.Errorf("asking for the ends of %s: %w", topic, err)
	}
	ends := map[int]int64{}
	for _, p := range answer.Topics[topic] {
		if p.Error != nil {
			return nil, fmt.Errorf("asking for the end of partition %d of %s: %w", p.Partition, topic, p.Error)
		}
		ends[p.Partition] = p.LastOffset
	}
	return ends, nil
}
