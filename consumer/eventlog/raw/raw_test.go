package raw_test

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/consumer/eventlog"
	"footfall/consumer/eventlog/raw"
	"footfall/internal/kafka/dial"
	"footfall/models"
)

// batch is a batch of records as Kafka's cleaner leaves it: it still spans the offsets [first, last], and has only some of them.
func batch(first, last int64, left ...int64) []byte {
	b := kmsg.RecordBatch{
		FirstOffset: first, PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: int32(last - first), ProducerID: -1, ProducerEpoch: -1,
		FirstSequence: -1, NumRecords: int32(len(left)),
	}
	for _, offset := range left {
		r := kmsg.Record{OffsetDelta: int32(offset - first), Key: []byte("k"), Value: []byte("v")}
		r.Length = int32(len(r.AppendTo(nil)) - 1)
		b.Records = r.AppendTo(b.Records)
	}
	b.Length = int32(len(b.AppendTo(nil)) - 12)
	text := b.AppendTo(nil)
	binary.BigEndian.PutUint32(text[17:], crc32.Checksum(text[21:], crc32.MakeTable(crc32.Castagnoli)))
	return text
}

// Kafka answers a fetch with what one segment has. If compaction has removed the last records of the segment's last batch, the answer to a fetch at
// their offsets is that batch, with nothing new in it. The reader has to go on behind it.
func TestReadPastACompactedBatch(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	via, p := dial.Plain(cluster.ListenAddrs()...), models.Partition{Topic: "ledger"}
	for range 10 { // for the bounds of the log
		if _, err := raw.Append(t.Context(), via, p, []kafka.Record{{Value: kafka.NewBytes([]byte("x")), Time: time.Now()}}); err != nil {
			t.Fatal(err)
		}
	}
	segments := []struct {
		last  int64
		batch []byte
	}{{3, batch(0, 3, 0, 1)}, {5, batch(4, 5)}, {7, batch(6, 7, 7)}, {9, batch(8, 9, 8)}}
	cluster.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		request := r.(*kmsg.FetchRequest)
		answer := request.ResponseKind().(*kmsg.FetchResponse)
		of := kmsg.NewFetchResponseTopicPartition()
		of.HighWatermark, of.LastStableOffset = 10, 10
		for _, s := range segments {
			if s.last >= request.Topics[0].Partitions[0].FetchOffset {
				of.RecordBatches = s.batch
				break
			}
		}
		answer.Topics = []kmsg.FetchResponseTopic{{Topic: request.Topics[0].Topic, Partitions: []kmsg.FetchResponseTopicPartition{of}}}
		return answer, nil, true
	})
	for from, want := range map[int64][]int64{0: {0, 1, 7, 8}, 3: {7, 8}, 9: nil} {
		var got []int64
		span, err := raw.Read(t.Context(), via, p, eventlog.Span{From: from, To: 100}, func(m kafka.Message) error {
			got = append(got, m.Offset)
			return nil
		})
		if err != nil || !slices.Equal(got, want) || span != (eventlog.Span{From: from, To: 10}) {
			t.Errorf("from %d: %v of %v, want %v; %v", from, got, span, want, err)
		}
	}
}
