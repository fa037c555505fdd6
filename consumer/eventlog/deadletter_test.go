package eventlog_test

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/consumer/deadletters"
	"footfall/consumer/eventlog"
	"footfall/consumer/eventlog/raw"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/dial/dialtest"
	"footfall/models"
)

// deadTopic is a topic of dead letters that takes small messages only.
type deadTopic struct {
	*testing.T
	via        dial.Kafka
	partitions int
	requests   atomic.Int64 // to write letters
}

func newDeadTopic(t *testing.T, partitions int, limit string) *deadTopic {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(int32(partitions), "dead"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	dialtest.WaitForAllReplicas(t, cluster)
	d := &deadTopic{T: t, via: dial.Plain(cluster.ListenAddrs()...), partitions: partitions}
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		d.requests.Add(1)
		return nil, nil, false
	})
	d.limit(limit)
	return d
}

func (d *deadTopic) limit(bytes string) {
	d.Helper()
	answer, err := d.via.Client(10*time.Second).IncrementalAlterConfigs(d.Context(), &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: "dead",
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: "max.message.bytes", Value: bytes}}}},
	})
	if err != nil || answer.Resources[0].Error != nil {
		d.Fatal(answer, err)
	}
}

// letters are the letters in the topic, by the offset that they come from.
func (d *deadTopic) letters() map[int64][]deadletters.Letter {
	d.Helper()
	found := map[int64][]deadletters.Letter{}
	for n := range d.partitions {
		if _, err := raw.Read(d.Context(), d.via, models.Partition{Topic: "dead", Number: n}, eventlog.Span{To: 10_000}, func(m kafka.Message) error {
			letter, err := deadletters.Parse(m)
			found[letter.Origin.Offset] = append(found[letter.Origin.Offset], letter)
			return err
		}); err != nil {
			d.Fatal(err)
		}
	}
	return found
}

func lettersOf(sizes ...int) (letters []*eventlog.DeadLetter) {
	for offset, size := range sizes {
		letters = append(letters, &eventlog.DeadLetter{Invalid: &models.Invalid{Reason: "bad_json"},
			Message: kafka.Message{Topic: "clicks", Offset: int64(offset), Value: bytes.Repeat([]byte{'x'}, size)}})
	}
	return letters
}

// A topic that takes small messages only gets what fits of a letter, and the others whole. None is written twice, in whichever batch it was.
func TestATopicOfSmallDeadLetters(t *testing.T) {
	for _, partitions := range []int{1, 3, 4} {
		topic, letters := newDeadTopic(t, partitions, "600"), lettersOf(10, 300, 5000, 20, 30, 450, 650, 40)
		dead := eventlog.NewDeadLetterTopic(topic.via, "dead")
		defer func() { _ = dead.Close() }()
		if err := dead.Write(t.Context(), letters); err != nil {
			t.Fatal(err)
		}
		found := topic.letters()
		for offset, l := range letters {
			got, size := found[int64(offset)], len(l.Message.Value)
			if len(got) != 1 {
				t.Errorf("%d partitions: letter %d of %d bytes is there %d times", partitions, offset, size, len(got))
				continue
			}
			if large := size > 600; got[0].Truncated != large || len(got[0].Value) == 0 || !large && len(got[0].Value) != size {
				t.Errorf("letter %d of %d bytes has %d, truncated %v", offset, size, len(got[0].Value), got[0].Truncated)
			}
		}
		topic.limit("1")
		if err := dead.Write(t.Context(), letters); !eventlog.TooLarge(err) {
			t.Errorf("a topic that takes nothing: %v", err)
		}
	}
}

// What fits is found out once in a chunk: each letter that is too large costs a request that is refused, and one that is not.
func TestManyDeadLettersThatAreTooLarge(t *testing.T) {
	const count = 500
	sizes := make([]int, count)
	for i := range sizes {
		sizes[i] = 3000 + i
	}
	topic := newDeadTopic(t, 4, "600")
	dead := eventlog.NewDeadLetterTopic(topic.via, "dead")
	defer func() { _ = dead.Close() }()
	if err := dead.Write(t.Context(), lettersOf(sizes...)); err != nil {
		t.Fatal(err)
	}
	if n := topic.requests.Load(); n > 2*count+20 {
		t.Errorf("%d letters took %d requests", count, n)
	}
	if found := topic.letters(); len(found) != count {
		t.Errorf("%d letters of %d are in the topic", len(found), count)
	}
}
