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
	retries "footfall/internal/retry"
)

// quiet is how long the end offsets of a sealed topic have to stay unchanged. Within that time a leader appends what it had accepted before
// it knew of the seal.
const quiet = time.Second

// lagPatience is how long replicas may lag behind their leader. Kafka removes one that hangs from the in-sync replicas after 30 seconds
// (replica.lag.time.max.ms), and then acknowledges what waited for it.
const lagPatience = 2 * time.Minute

// whileLagging is ctx until lagPatience is over.
func whileLagging(ctx context.Context, topic string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, lagPatience, fmt.Errorf("some replicas of %s still lag behind their leaders after %v: are all brokers"+
		" running?", topic, lagPatience))
}

// askEnds asks for ends until there is an answer.
func askEnds(ctx context.Context, via dial.Kafka, topic string, n int, ask func(context.Context, dial.Kafka, string, int) (map[int]int64, error)) (ends map[int]int64, err error) {
	err = retry(ctx, "asking for the ends of "+topic, func(ctx context.Context) (err error) {
		ends, err = ask(ctx, via, topic, n)
		return err
	})
	return ends, err
}

// finalEnds returns the end offsets of a sealed topic, once they are stable and replicas have all that their leaders have. A message that is
// not replicated yet is invisible to consumers, and may still be acknowledged.
func finalEnds(ctx context.Context, via dial.Kafka, topic string, n int) (map[int]int64, error) {
	ctx, cancel := whileLagging(ctx, topic)
	defer cancel()
	var last map[int]int64
	for {
		var ends map[int]int64
		taken, err := askEnds(ctx, via, topic, n, takenEnds)
		if err == nil {
			ends, err = askEnds(ctx, via, topic, n, Ends)
		}
		switch {
		case ctx.Err() != nil:
			return nil, errors.Join(context.Cause(ctx), err)
		case err != nil || maps.Equal(ends, last) && maps.Equal(ends, taken):
			return ends, err
		}
		last = ends
		if retries.Sleep(ctx, quiet) != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// ReplicatedEnds asks for the ends of what the leaders of a topic's first n partitions have now, and returns them once consumers can read all
// of it. Other than the high watermarks of the moment, they include messages that are not replicated yet.
func ReplicatedEnds(ctx context.Context, via dial.Kafka, topic string, n int) (map[int]int64, error) {
	ctx, cancel := whileLagging(ctx, topic)
	defer cancel()
	taken, err := askEnds(ctx, via, topic, n, takenEnds)
	for err == nil {
		var ends map[int]int64
		ends, err = askEnds(ctx, via, topic, n, Ends)
		behind := false
		for p, end := range taken {
			behind = behind || ends[p] < end
		}
		if err == nil && !behind {
			return taken, nil
		}
		if retries.Sleep(ctx, pause) != nil {
			err = errors.Join(err, context.Cause(ctx))
		}
	}
	return nil, err
}

// takenEnds asks for the log end offsets of the leaders: after their last messages, replicated or not.
func takenEnds(ctx context.Context, via dial.Kafka, topic string, n int) (map[int]int64, error) {
	const noConsumer, latest = -2, -1 // a consumer (-1) would get the high watermark instead
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
		return nil, fmt.Errorf("asking for the log end offsets of %s: %w", topic, err)
	}
	ends := map[int]int64{}
	for _, t := range answer.(*listoffsets.Response).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return nil, fmt.Errorf("asking for the log end offset of partition %d of %s: %w", p.Partition, topic, kafka.Error(p.ErrorCode))
			}
			ends[int(p.Partition)] = p.Offset
		}
	}
	return ends, nil
}

// Ends asks once for the end offsets (high watermarks) of a topic's first n partitions.
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
