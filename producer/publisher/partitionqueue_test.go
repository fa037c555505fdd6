package publisher

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/models"
	"footfall/producer/admission"
	"footfall/producer/answer"
)

// TestPartitionFailsAlone: events of a partition that refuses them fail at once; those of others do not.
func TestPartitionFailsAlone(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	const bad = 2
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: testTopic, Partitions: []int32{bad}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	events := spreadClicks(60)
	failed, began := 0, time.Now()
	for i, err := range p.Publish(t.Context(), admission.Tenant{}, testTopic, events) {
		if inBad := p.partitionOf(events[i]) == bad; inBad != (err != nil) {
			t.Errorf("event %d of partition %d: %v", i, p.partitionOf(events[i]), err)
		} else if inBad {
			failed++
		}
	}
	if failed == 0 || failed == len(events) {
		t.Fatalf("%d events of %d were for partition %d: nothing is shown", failed, len(events), bad)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("a refusal took %v", took)
	}
	if got := written(t, cluster, bad); len(got) != 0 {
		t.Errorf("in the partition that refuses: %v", got)
	}
}

// TestOrderIsKept: after a temporary error a batch is retried before later events of its partition. Other partitions do not wait.
func TestOrderIsKept(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	bad := p.partitionOf(clicksOf("a", "1")[0])
	failing := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: testTopic, Partitions: []int32{int32(bad)}, Err: kerr.NotEnoughReplicas, Count: -1})
	want := []string{"1", "2", "3", "4", "5", "6"}
	var senders sync.WaitGroup
	for i, id := range want {
		senders.Go(func() { allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, clicksOf("a", id))) })
		p.inFlight(t, i+1)
	}
	other := "b"
	for p.partitionOf(clicksOf(other, "x")[0]) == bad {
		other += "b"
	}
	allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, clicksOf(other, "x"))) // while the others wait
	p.inFlight(t, len(want))
	if err := failing.Wait(t.Context(), failing.Hits()+1); err != nil { // one more attempt, with events that wait behind the first
		t.Fatal(err)
	}
	failing.Remove()
	senders.Wait()
	if got := written(t, cluster, bad); !slices.Equal(got, want) {
		t.Errorf("in Kafka: %v, want %v", got, want)
	}
}

// TestGivenUpInTime: an event that Kafka never takes is retried for as long as its sender waits, and then dropped.
func TestGivenUpInTime(t *testing.T) {
	cluster, p := openTest(t, 1, func(o *Options) { o.Timeout = time.Second })
	attempts := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotLeaderForPartition, Count: -1})
	began := time.Now()
	if got := reasonOf(p.Publish(t.Context(), admission.Tenant{}, testTopic, spreadClicks(1))[0]); got != answer.KafkaUnavailable || time.Since(began) < 900*time.Millisecond {
		t.Errorf("%q after %v", got, time.Since(began))
	}
	p.inFlight(t, 0)
	if n := attempts.Hits(); n < 2 || n > 5 { // after pauses of 0.1, 0.4 and 0.9 s
		t.Errorf("it was tried %d times", n)
	}
}

// TestSlotsOfTheLateAreFreed: batches that wait behind others are given up together with them, not sent one after the other.
func TestSlotsOfTheLateAreFreed(t *testing.T) {
	cluster, p := openTest(t, 1, func(o *Options) { o.Timeout = 500 * time.Millisecond })
	allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, spreadClicks(60)))
	release := held(cluster)
	defer release()
	events := clicksOf("a", slices.Repeat([]string{"i"}, 3000)...)
	for _, e := range events { // of several record batches
		e.(*models.Click).UA = strings.Repeat("u", models.MaxUA)
	}
	began := time.Now()
	p.Publish(t.Context(), admission.Tenant{}, testTopic, events)
	p.inFlight(t, 0)
	if took := time.Since(began); took > 3*time.Second { // sent one after the other they would take four
		t.Errorf("the slots were free after %v", took)
	}
}

// TestLargeBatchesAreSplit: more events may wait for a partition than a broker takes in one batch.
func TestLargeBatchesAreSplit(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	release := held(cluster)
	defer release()
	var senders sync.WaitGroup
	sent := 0
	for i := range 4 {
		events := clicksOf("a", slices.Repeat([]string{"i"}, 500)...)
		for _, e := range events {
			e.(*models.Click).UA = strings.Repeat("u", models.MaxUA)
			e.(*models.Click).Referrer = strings.Repeat(string(rune('a'+i)), models.MaxReferrer)
		}
		sent += len(events)
		senders.Go(func() { allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, events)) })
		p.inFlight(t, sent)
	}
	release()
	senders.Wait()
	if got := written(t, cluster, p.partitionOf(clicksOf("a", "i")[0])); len(got) != sent {
		t.Errorf("%d events are in Kafka, want %d", len(got), sent)
	}
}

// TestBrokerThatTakesLittle: batches get smaller until they fit.
func TestBrokerThatTakesLittle(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	size := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.MessageTooLarge, Count: -1, When: func(r kmsg.Request) bool {
		return len(r.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records) > 5000
	}})
	events := clicksOf("a", slices.Repeat([]string{"i"}, 200)...)
	for attempt := 1; ; attempt++ {
		outcomes := p.Publish(t.Context(), admission.Tenant{}, testTopic, events)
		if !slices.ContainsFunc(outcomes, func(err error) bool { return err != nil }) {
			break
		}
		if attempt == 5 {
			t.Fatalf("refused five times: %v", outcomes[0])
		}
	}
	if size.Hits() == 0 {
		t.Error("no batch was too large: nothing is shown")
	}
}
