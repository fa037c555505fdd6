package topics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/listoffsets"

	"footfall/internal/kafka/dial"
)

// quiet is how long the ends of a sealed topic have to stay as they are. A write that its leader had let in before it knew of the seal is
// appended within that time.
const quiet = time.Second

// lagPatience is how long replicas may lack what their leader has. Kafka gives up one that hangs after 30 seconds
// (replica.lag.time.max.ms), and acknowledges what waited for it.
const lagPatience = 2 * time.Minute

// finalEnds are the ends of a sealed topic, when they stayed as they are for a while and replicas have all that their leaders took: a
// message that is not replicated yet is in nobody's sight, and may still be acknowledged.
func finalEnds(ctx context.Context, via dial.Kafka, topic string, n int) (map[int]int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lagPatience, fmt.Errorf("some replicas of %s lack messages that its leaders took: are all"+
		" brokers running?", topic))
	defer cancel()
	var last map[int]int64
	for {
		var ends, taken map[int]int64
		err := retry(ctx, "asking for the ends of "+topic, func(ctx context.Context) (err error) {
			if taken, err = takenEnds(ctx, via, topic, n); err == nil {
				ends, err = Ends(ctx, via, topic, n)
			}
			return err
		})
		switch {
		case ctx.Err() != nil:
			return nil, errors.Join(context.Cause(ctx), err)
		case err != nil || maps.Equal(ends, last) && maps.Equal(ends, taken):
			return ends, err
		}
		last = ends
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(quiet):
		}
	}
}

// takenEnds asks for the offsets behind the last messages that leaders have, replicated or not.
func takenEnds(ctx context.Context, via dial.Kafka, topic string, n int) (map[int]int64, error) {
	const noConsumer, latest = -2, -1 // who is no consumer is told of all messages
	asked := listoffsets.RequestTopic{Topic: topic}
	for p := range n {
		asked.Partitions = append(asked.Partitions, listoffsets.RequestPartition{Partition: int32(p), CurrentLeaderEpoch: -1, Timestamp: latest})
	}
	client, done := connect(via, []string{topic})
	defer done()
	answer, err := client.Transport.RoundTrip(ctx, client.Addr, &listoffsets.Request{
		ReplicaID: noConsumer, Topics: []listoffsets.RequestTopic{asked},
	})
	if err != nil {
		return nil, fmt.Errorf("asking for what the leaders of %s have: %w", topic, err)
	}
	ends := map[int]int64{}
	for _, t := range answer.(*listoffsets.Response).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return nil, fmt.Errorf("asking for what the leader of partition %d of %s has: %w", p.Partition, topic, kafka.Error(p.ErrorCode))
			}
			ends[int(p.Partition)] = p.Offset
		}
	}
	return ends, nil
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
