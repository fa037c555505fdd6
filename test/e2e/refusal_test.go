package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/test/e2e/broker"
	"footfall/test/e2e/load"
	"footfall/test/e2e/process"
)

// A consumer refuses a log that does not fit the ledger and says what to do. Going on would silently lose or skip events.
func TestRefusals(t *testing.T) {
	t.Parallel()
	d := newReal(t, 0)
	clicks, visits := d.Topics[0], d.Topics[1]
	first := d.addConsumer(t)
	const n = 1000
	want, _ := send(t, d, load.Make(21, n), load.Order(21, n), nil)
	d.settle(t, want)
	stop(t, first.Process)

	// Retention was too short: events were deleted before they were counted.
	send(t, d, load.Make(22, n), load.Order(22, n), nil)
	committed, err := d.Committed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.deleteRecords(t, clicks, 0, committed[broker.Partition{Topic: clicks, Number: 0}]+3)
	d.refused(t, fmt.Sprintf("3 events of topic %s, partition 0", clicks), "were deleted from Kafka before they were counted")

	// Somebody also moved the group's offset forward.
	moved := broker.Partition{Topic: visits, Number: 0}
	d.moveGroup(t, moved, committed[moved]+2)
	d.acceptGap(t, 4, fmt.Sprintf("3 events of topic %s, partition 0", clicks), fmt.Sprintf("2 events of topic %s, partition 0", visits),
		"5 events are missing, more than --at-most 4: nothing was changed")
	d.moveGroup(t, moved, committed[moved])
	d.acceptGap(t, 3, "3 events are accepted as they are")
	d.moveGroup(t, moved, committed[moved]+2)
	d.refused(t, fmt.Sprintf("2 events of topic %s, partition 0", visits), "the group's offset lies after them")

	// Somebody changed how far back ids are looked for: repairs would not decide as the owners did.
	d.refusedWith(t, []string{"FOOTFALL_DUPLICATES_WINDOW=7"}, "has duplicates.window 7, but was counted with 100000")

	// Somebody added partitions.
	d.addPartitions(t, visits, len(committed)/2+1)
	d.refused(t, fmt.Sprintf("topic %s has partitions %d, but was counted with %d", visits, len(committed)/2+1, len(committed)/2))

	// Somebody deleted the topics, and a producer created them anew.
	if _, err := d.Client.DeleteTopics(t.Context(), &kafka.DeleteTopicsRequest{Topics: []string{clicks, visits}}); err != nil {
		t.Fatal(err)
	}
	if _, err := process.Run(patiently(t), process.Command{
		Name: "topics", Path: binaries.Path(t, "producer"), Args: []string{"topics"}, Env: d.env, Dir: d.dir,
	}); err != nil {
		t.Fatal(err)
	}
	d.refused(t, "was the topic created anew?")
}

// refused starts a consumer, which must end by itself with an error that contains the texts.
func (d *real) refused(t *testing.T, texts ...string) {
	t.Helper()
	d.refusedWith(t, nil, texts...)
}

func (d *real) refusedWith(t *testing.T, env []string, texts ...string) {
	t.Helper()
	printed, err := process.Run(patiently(t), process.Command{
		Name: "refused" + unique(), Path: binaries.Path(t, "consumer"), Env: slices.Concat(d.env, env), Dir: d.dir,
	})
	if err == nil {
		t.Fatalf("the consumer ended without an error:\n%s", printed)
	}
	for _, text := range texts {
		if !strings.Contains(printed, text) {
			t.Errorf("the consumer did not print %q but\n%s", text, printed)
		}
	}
}

// moveGroup does what kafka-consumer-groups --reset-offsets does.
func (d *real) moveGroup(t *testing.T, p broker.Partition, to int64) {
	t.Helper()
	answer, err := d.Client.OffsetCommit(t.Context(), &kafka.OffsetCommitRequest{
		GroupID: d.Group, GenerationID: -1, Topics: map[string][]kafka.OffsetCommit{p.Topic: {{Partition: p.Number, Offset: to}}},
	})
	if err != nil || answer.Topics[p.Topic][0].Error != nil {
		t.Fatal(err, answer)
	}
}

// acceptGap runs `consumer accept-gap`, which must print the texts.
func (d *real) acceptGap(t *testing.T, atMost int, texts ...string) {
	t.Helper()
	printed, _ := d.command(t, "accept-gap", "--at-most", strconv.Itoa(atMost)) // what it prints shows whether it failed
	for _, text := range texts {
		if !strings.Contains(printed, text) {
			t.Errorf("accept-gap did not print %q but\n%s", text, printed)
		}
	}
}

func (d *real) addPartitions(t *testing.T, topic string, count int) {
	t.Helper()
	answer, err := d.Client.CreatePartitions(t.Context(), &kafka.CreatePartitionsRequest{
		Topics: []kafka.TopicPartitionsConfig{{Name: topic, Count: int32(count)}},
	})
	if err == nil {
		err = answer.Errors[topic]
	}
	if err != nil {
		t.Fatal(err)
	}
}

// deleteRecords deletes records as retention does, at once. kafka-go lacks the request.
func (d *real) deleteRecords(t *testing.T, topic string, partition int, before int64) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(d.Client.Addr.String()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	request := kmsg.NewPtrDeleteRecordsRequest()
	request.TimeoutMillis = 10_000
	ask := kmsg.NewDeleteRecordsRequestTopic()
	ask.Topic = topic
	one := kmsg.NewDeleteRecordsRequestTopicPartition()
	one.Partition, one.Offset = int32(partition), before
	ask.Partitions = append(ask.Partitions, one)
	request.Topics = append(request.Topics, ask)
	answer, err := request.RequestWith(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	if code := answer.Topics[0].Partitions[0].ErrorCode; code != 0 {
		t.Fatalf("deleting records: error code %d", code)
	}
}
