package rollup

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/configs"
	"footfall/internal/kafka/dial"
	"footfall/models"
)

// aLog is a broker in process with one message a minute, and a way to make retention cut it.
func aLog(t *testing.T, messages int) (log *kafkaLog, begin time.Time, cluster *kfake.Cluster, cut func(before int64)) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "clicks"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	via, err := dial.New(cluster.ListenAddrs(), configs.TLS{}, configs.SASL{})
	if err != nil {
		t.Fatal(err)
	}
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
	log = &kafkaLog{kafka: via, sources: sources{"clicks": {topic: "clicks", inspect: newInspector(decode, 1)}}}
	return log, begin, cluster, func(before int64) {
		retention := kmsg.NewPtrDeleteRecordsRequest() // does at once what it would do one day
		retention.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "clicks", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: before}}}}
		if answer, err := retention.RequestWith(t.Context(), client); err != nil || answer.Topics[0].Partitions[0].ErrorCode != 0 {
			t.Error(err, answer)
		}
	}
}

// A part of the log can be read again as far as retention has left it, and tells whether duplicates in it can still be told.
func TestRereadAfterRetention(t *testing.T) {
	const topic = "clicks"
	log, begin, _, cut := aLog(t, 60)
	cut(30)
	f := func(asked, want span, r reach, whole bool, warm int64) {
		t.Helper()
		var offsets []int64
		got, err := log.read(t.Context(), models.Partition{Topic: topic}, asked, r, func(it item) {
			offsets = append(offsets, it.offset)
			if it.warm != (it.offset < want.from) || !it.at.Equal(begin.Add(time.Duration(it.offset)*time.Minute)) {
				t.Errorf("offset %d: warm %v, at %v", it.offset, it.warm, it.at)
			}
		})
		if err != nil || got != (reading{want, whole}) {
			t.Errorf("reading %v within %v: %v, %v; want %v, whole %v", asked, r, got, err, want, whole)
		}
		if n := int64(len(offsets)); n != warm+want.to-want.from || n > 0 && (offsets[0] != want.from-warm || offsets[n-1] != want.to-1) {
			t.Errorf("reading %v within %v gave %v", asked, r, offsets)
		}
	}
	f(span{45, 50}, span{45, 50}, reach{10, time.Hour}, true, 10)
	f(span{45, 50}, span{45, 50}, reach{15, time.Hour}, true, 15)
	f(span{45, 50}, span{45, 50}, reach{16, time.Hour}, false, 15)       // one id is missing
	f(span{45, 50}, span{45, 50}, reach{16, 13 * time.Minute}, true, 15) // but it would be too old
	f(span{45, 50}, span{45, 50}, reach{16, 14 * time.Minute}, false, 15)
	f(span{20, 35}, span{30, 35}, reach{10, time.Minute}, false, 0)
	f(span{55, 90}, span{55, 60}, reach{5, time.Hour}, true, 5)
	f(span{60, 90}, span{60, 60}, reach{5, time.Hour}, true, 0)
	f(span{5, 20}, span{20, 20}, reach{5, time.Hour}, true, 0)

	var refused *refusal
	if _, err := log.read(t.Context(), models.Partition{Topic: "other"}, span{0, 1}, reach{}, nil); !errors.As(err, &refused) {
		t.Errorf("reading another topic: %v", err)
	}
}

// kafka-go's reader jumps over what is deleted while it reads, without a word. A repair made from the rest would be wrong.
func TestRereadDuringRetention(t *testing.T) {
	log, _, cluster, cut := aLog(t, 60)
	cluster.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.SleepControl(func() { cut(50) })
		return nil, nil, false
	})
	var offsets []int64
	_, err := log.read(t.Context(), models.Partition{Topic: "clicks"}, span{10, 60}, reach{5, time.Hour}, func(it item) {
		offsets = append(offsets, it.offset)
	})
	if err == nil || len(offsets) == 55 {
		t.Errorf("offsets %v were read, error %v: want some missing, and told", offsets, err)
	}
}
