package eventlog

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/internal/kafka/dial"
	"footfall/models"
)

// aLog starts a broker in process with one message a minute. cut deletes the messages below an offset, as retention would.
func aLog(t *testing.T, messages int) (log *KafkaReader, begin time.Time, cluster *kfake.Cluster, cut func(before int64)) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "clicks"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	via := dial.Plain(cluster.ListenAddrs()...)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	begin = time.Now().Add(-time.Duration(messages) * time.Minute).Truncate(time.Millisecond)
	for i := range messages {
		record := &kgo.Record{Topic: "clicks", Value: fmt.Append(nil, i), Timestamp: begin.Add(time.Duration(i) * time.Minute)}
		if err := client.ProduceSync(t.Context(), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	decode := func([]byte) (models.Event, error) { return nil, errors.New("no event") }
	log = &KafkaReader{Kafka: via, Sources: Sources{"clicks": {Topic: "clicks", Inspect: NewInspector(decode, 1)}}}
	return log, begin, cluster, func(before int64) {
		retention := kmsg.NewPtrDeleteRecordsRequest() // retention itself would take minutes
		retention.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "clicks", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: before}}}}
		if answer, err := retention.RequestWith(t.Context(), client); err != nil || answer.Topics[0].Partitions[0].ErrorCode != 0 {
			t.Error(err, answer)
		}
	}
}

// Read returns the offsets that retention has left, and says whether all ids that tell duplicates among them are left too.
func TestReadAgainAfterRetention(t *testing.T) {
	const topic = "clicks"
	log, begin, _, cut := aLog(t, 60)
	cut(30)
	f := func(asked, want Span, r Reach, whole bool, warm int64) {
		t.Helper()
		var offsets []int64
		got, err := log.Read(t.Context(), models.Partition{Topic: topic}, asked, r, func(it Item) {
			offsets = append(offsets, it.Offset)
			if it.Warm != (it.Offset < want.From) || !it.At.Equal(begin.Add(time.Duration(it.Offset)*time.Minute)) {
				t.Errorf("offset %d: warm %v, at %v", it.Offset, it.Warm, it.At)
			}
		})
		if err != nil || got != (Reading{want, whole}) {
			t.Errorf("reading %v within %v: %v, %v; want %v, whole %v", asked, r, got, err, want, whole)
		}
		if n := int64(len(offsets)); n != warm+want.To-want.From || n > 0 && (offsets[0] != want.From-warm || offsets[n-1] != want.To-1) {
			t.Errorf("reading %v within %v gave %v", asked, r, offsets)
		}
	}
	f(Span{45, 50}, Span{45, 50}, Reach{10, time.Hour}, true, 10)
	f(Span{45, 50}, Span{45, 50}, Reach{15, time.Hour}, true, 15)
	f(Span{45, 50}, Span{45, 50}, Reach{16, time.Hour}, false, 15)       // one id is missing
	f(Span{45, 50}, Span{45, 50}, Reach{16, 13 * time.Minute}, true, 15) // but it would be too old
	f(Span{45, 50}, Span{45, 50}, Reach{16, 14 * time.Minute}, false, 15)
	f(Span{20, 35}, Span{30, 35}, Reach{10, time.Minute}, false, 0)
	f(Span{55, 90}, Span{55, 60}, Reach{5, time.Hour}, true, 5)
	f(Span{60, 90}, Span{60, 60}, Reach{5, time.Hour}, true, 0)
	f(Span{5, 20}, Span{20, 20}, Reach{5, time.Hour}, true, 0)

	var refused *Refusal
	if _, err := log.Read(t.Context(), models.Partition{Topic: "other"}, Span{0, 1}, Reach{}, nil); !errors.As(err, &refused) {
		t.Errorf("reading another topic: %v", err)
	}
}

// kafka-go's reader silently skips what Kafka deletes while it reads. A repair made from the rest would be wrong.
func TestReadAgainDuringRetention(t *testing.T) {
	log, _, cluster, cut := aLog(t, 60)
	cluster.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.SleepControl(func() { cut(50) })
		return nil, nil, false
	})
	var offsets []int64
	_, err := log.Read(t.Context(), models.Partition{Topic: "clicks"}, Span{10, 60}, Reach{5, time.Hour}, func(it Item) {
		offsets = append(offsets, it.Offset)
	})
	if err == nil || len(offsets) == 55 {
		t.Errorf("read offsets %v, error %v: want missing offsets and an error", offsets, err)
	}
}
