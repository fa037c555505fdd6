package eventlog_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"

	"footfall/consumer/deadletters"
	"footfall/consumer/eventlog"
	"footfall/consumer/eventlog/raw"
	"footfall/internal/kafka/dial"
	"footfall/models"
)

// A topic that takes small messages only gets what fits of a letter, and the others whole.
func TestATopicOfSmallDeadLetters(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "dead"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	via := dial.Plain(cluster.ListenAddrs()...)
	limit := func(bytes string) {
		t.Helper()
		answer, err := via.Client(10*time.Second).IncrementalAlterConfigs(t.Context(), &kafka.IncrementalAlterConfigsRequest{
			Resources: []kafka.IncrementalAlterConfigsRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: "dead",
				Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: "max.message.bytes", Value: bytes}}}},
		})
		if err != nil || answer.Resources[0].Error != nil {
			t.Fatal(answer, err)
		}
	}
	var letters []*eventlog.DeadLetter
	for offset, size := range []int{10, 300, 5000, 20} {
		letters = append(letters, &eventlog.DeadLetter{Invalid: &models.Invalid{Reason: "bad_json"},
			Message: kafka.Message{Topic: "clicks", Offset: int64(offset), Value: bytes.Repeat([]byte{'x'}, size)}})
	}
	dead := eventlog.NewDeadLetterTopic(via, "dead")
	defer func() { _ = dead.Close() }()
	limit("600")
	if err := dead.Write(t.Context(), letters); err != nil {
		t.Fatal(err)
	}
	found := map[int64]deadletters.Letter{}
	if _, err := raw.Read(t.Context(), via, models.Partition{Topic: "dead"}, eventlog.Span{To: 100}, func(m kafka.Message) error {
		letter, err := deadletters.Parse(m)
		found[letter.Origin.Offset] = letter
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for offset, l := range letters {
		got := found[int64(offset)]
		if large := offset == 2; got.Truncated != large || len(got.Value) == 0 || !large && len(got.Value) != len(l.Message.Value) {
			t.Errorf("letter %d of %d bytes has %d, truncated %v", offset, len(l.Message.Value), len(got.Value), got.Truncated)
		}
	}
	limit("1")
	if err := dead.Write(t.Context(), letters); !eventlog.TooLarge(err) {
		t.Errorf("a topic that takes nothing: %v", err)
	}
}
