package topics_test

import (
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
)

// A leader may have messages that a hanging replica lacks. Consumers do not see them until Kafka gives the replica up, up to half a minute
// later. Then Kafka acknowledges them. The seal has to lie after them.
func TestSealWaitsForReplicas(t *testing.T) {
	const written, replicated, asked = 5, 3, 4
	c, brokers := cluster(t, kfake.NumBrokers(1))
	via := dial.Plain(brokers...)
	if err := topics.Ensure(t.Context(), via, []string{"visits"}, 1, -1, true); err != nil {
		t.Fatal(err)
	}
	for range written {
		if err := write(t.Context(), via, "visits", 0); err != nil {
			t.Fatal(err)
		}
	}
	var lagging atomic.Int64
	lagging.Store(asked)
	c.ControlKey(int16(kmsg.ListOffsets), func(request kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		r := request.(*kmsg.ListOffsetsRequest)
		if r.ReplicaID != -1 || lagging.Load() == 0 {
			return nil, nil, false
		}
		lagging.Add(-1)
		answer := r.ResponseKind().(*kmsg.ListOffsetsResponse)
		partition := kmsg.NewListOffsetsResponseTopicPartition()
		partition.Offset = replicated
		answer.Topics = []kmsg.ListOffsetsResponseTopic{{Topic: "visits", Partitions: []kmsg.ListOffsetsResponseTopicPartition{partition}}}
		return answer, nil, true
	})
	ends, err := topics.Seal(t.Context(), via, "visits")
	if err != nil || ends[0] < written {
		t.Errorf("sealed at %v (%v), want %d at least: acknowledged messages would not be counted", ends, err, written)
	}
	if left := lagging.Load(); left > 0 {
		t.Errorf("the broker was asked %d times less than expected: the test proves nothing", left)
	}
	lagging.Store(2)
	if ends, err := topics.ReplicatedEnds(t.Context(), via, "visits", 1); err != nil || ends[0] < written || lagging.Load() != 0 {
		t.Errorf("ends %v, %v, want %d at least: messages would be taken for not written", ends, err, written)
	}
}
