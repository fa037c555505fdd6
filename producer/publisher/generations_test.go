package publisher

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/models"
	"footfall/producer/admission"
)

// TestABrokerThatHearsOfTheNextGenerationLater: events wait if the broker that is asked for the next generation does not know it yet.
func TestABrokerThatHearsOfTheNextGenerationLater(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: testTopic, Err: kerr.MessageTooLarge, Count: -1})
	var asked atomic.Int32
	cluster.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if r.(*kmsg.MetadataRequest).Topics == nil { // asks for all topics
			asked.Add(1)
		}
		return nil, nil, false
	})
	outcome := make(chan []error, 1)
	go func() { outcome <- p.Publish(t.Context(), admission.Tenant{}, testTopic, clicksOf("a", "1")) }()
	for asked.Load() < 2 { // the first time it does not know it
		select {
		case errs := <-outcome:
			t.Fatalf("given up when it was asked for %d times: %v", asked.Load(), errs)
		case <-time.After(time.Millisecond):
		}
	}
	next := models.GenerationTopic(testTopic, 2)
	client := &kafka.Client{Addr: kafka.TCP(cluster.ListenAddrs()...)}
	made, err := client.CreateTopics(t.Context(), &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{Topic: next, NumPartitions: 1, ReplicationFactor: 1}}})
	if err != nil || made.Errors[next] != nil {
		t.Fatal(err, made)
	}
	allTaken(t, <-outcome)
}
