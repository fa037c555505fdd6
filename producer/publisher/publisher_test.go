package publisher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/dial/dialtest"
	"footfall/internal/kafka/topics"
	"footfall/models"
	"footfall/producer/admission"
	"footfall/producer/answer"
)

const testTopic, otherTopic, testPartitions = "clicks", "visits", 6

// openTest makes a cluster with so many brokers, and a publisher that gives it a minute for each event.
func openTest(t *testing.T, brokers int, tweak func(*Options)) (*kfake.Cluster, *Publisher) {
	t.Helper()
	t.Parallel()
	o := Options{
		Topics: []string{testTopic, otherTopic}, Timeout: time.Minute, Slots: 4096, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	}
	if tweak != nil {
		tweak(&o)
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(brokers), kfake.SeedTopics(testPartitions, o.Topics...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	dialtest.WaitForAllReplicas(t, cluster)
	p, err := Open(t.Context(), dial.Plain(cluster.ListenAddrs()...), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return cluster, p
}

// reasonOf is the reason of a refusal, "" if there is none.
func reasonOf(err error) string {
	var why *answer.Refusal
	if errors.As(err, &why) {
		return why.Reason
	}
	return ""
}

// clicksOf are clicks on one link: those of one visitor go to one partition, in their order.
func clicksOf(visitor string, ids ...string) (events []models.Event) {
	for _, id := range ids {
		events = append(events, &models.Click{V: models.Version, ID: id, ShortURL: "s", IP: visitor, TS: 1436968800000})
	}
	return events
}

// spreadClicks are clicks of so many visitors.
func spreadClicks(n int) (events []models.Event) {
	for i := range n {
		events = append(events, clicksOf(fmt.Sprint("visitor", i), fmt.Sprint("id", i))...)
	}
	return events
}

func (p *Publisher) partitionOf(event models.Event) int {
	return p.keys.Balance(kafka.Message{Topic: testTopic, Key: []byte(event.KafkaKey())})
}

// held keeps all writes to some brokers waiting until they are released.
func held(c *kfake.Cluster, nodes ...int32) (release func()) {
	gate := make(chan struct{})
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if len(nodes) == 0 || slices.Contains(nodes, c.CurrentNode()) {
			c.SleepControl(func() { <-gate })
		}
		return nil, nil, false
	})
	return sync.OnceFunc(func() { close(gate) })
}

// written reads the ids of a partition, in order.
func written(t *testing.T, c *kfake.Cluster, partition int) (ids []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	end := c.PartitionInfo(testTopic, int32(partition)).HighWatermark
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: c.ListenAddrs(), Topic: testTopic, Partition: partition, MaxWait: 10 * time.Millisecond})
	defer func() { _ = r.Close() }()
	for offset := range end {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if m.Offset != offset {
			t.Errorf("a message at %d, want it at %d", m.Offset, offset)
		}
		var event struct{ ID string }
		if err := json.Unmarshal(m.Value, &event); err != nil {
			t.Fatalf("%q: %v", m.Value, err)
		}
		if age := time.Since(m.Time); age < -time.Minute || age > time.Minute {
			t.Errorf("%s was written at %v; Kafka deletes by that", event.ID, m.Time)
		}
		ids = append(ids, event.ID)
	}
	return ids
}

func allTaken(t *testing.T, outcomes []error) {
	t.Helper()
	for i, err := range outcomes {
		if err != nil {
			t.Errorf("event %d: %v (%v)", i, err, errors.Unwrap(err))
		}
	}
}

// inFlight waits until so many slots are in use.
func (p *Publisher) inFlight(t *testing.T, want int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		used := p.slots.Used()
		p.mu.Unlock()
		if used == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d slots in use, want %d", used, want)
		}
	}
}

// TestSlotsAreKept: an event whose sender gave up keeps its slot until it is written, so that never more slots are in use than there are.
func TestSlotsAreKept(t *testing.T) {
	cluster, p := openTest(t, 1, func(o *Options) { o.Slots = 10 })
	release := held(cluster)
	defer release()
	count := func(outcomes []error) map[string]int {
		reasons := map[string]int{}
		for _, err := range outcomes {
			reasons[reasonOf(err)]++
		}
		return reasons
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got := count(p.Publish(ctx, admission.Tenant{}, testTopic, spreadClicks(15))); got[answer.KafkaUnavailable] != 10 || got[answer.Overloaded] != 5 {
		t.Errorf("15 events for 10 slots: %v", got)
	}
	if got := count(p.Publish(t.Context(), admission.Tenant{}, testTopic, spreadClicks(3))); got[answer.Overloaded] != 3 {
		t.Errorf("when the slots are taken by events that were given up: %v", got)
	}
	release()
	p.inFlight(t, 0)
	allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, spreadClicks(10)))
	total := int64(0)
	for _, n := range cluster.PartitionInfos(testTopic) {
		total += n.HighWatermark
	}
	if total != 20 { // with those whose sender gave up, without those that were refused
		t.Errorf("%d events are in Kafka, want 20", total)
	}
}

// TestPublishEndsWithItsContext: Publish returns when its context ends, even if Kafka is away.
func TestPublishEndsWithItsContext(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	allTaken(t, p.Publish(t.Context(), admission.Tenant{}, testTopic, spreadClicks(1)))
	cluster.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if got := reasonOf(p.Publish(ctx, admission.Tenant{}, testTopic, spreadClicks(1))[0]); got != answer.KafkaUnavailable || time.Since(began) > 10*time.Second {
		t.Errorf("without Kafka: %q after %v", got, time.Since(began))
	}
}

// TestClosing: if Kafka does not answer, Close returns in time and every event gets an outcome.
func TestClosing(t *testing.T) {
	cluster, p := openTest(t, 1, nil)
	release := held(cluster)
	defer release()
	waiting := make(chan []error, 1)
	go func() { waiting <- p.Publish(t.Context(), admission.Tenant{}, testTopic, spreadClicks(20)) }()
	p.inFlight(t, 20)
	began := time.Now()
	p.Close()
	if took := time.Since(began); took < closeTimeout || took > closeTimeout+5*time.Second {
		t.Errorf("closing took %v", took)
	}
	select {
	case outcomes := <-waiting:
		if reasonOf(outcomes[0]) != answer.KafkaUnavailable {
			t.Errorf("an event that was left behind: %v", outcomes[0])
		}
	case <-time.After(20 * time.Second):
		t.Fatal("a sender still waits for a publisher that is closed")
	}
	p.inFlight(t, 0)
	if got := reasonOf(p.Publish(t.Context(), admission.Tenant{}, testTopic, spreadClicks(1))[0]); got != answer.KafkaUnavailable {
		t.Errorf("after it was closed: %q", got)
	}
}

// TestAPublisherDoesNotGoBack: a broker that does not know the current generation yet does not make the publisher return to the last one.
func TestAPublisherDoesNotGoBack(t *testing.T) {
	_, p := openTest(t, 1, nil)
	next := models.GenerationTopic(testTopic, 2)
	p.mu.Lock()
	p.openGeneration(testTopic, topics.Generation{Topic: next, Number: 2, Partitions: 5})
	p.mu.Unlock()
	p.follow(testTopic, next)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current[testTopic] != next || len(p.queues[testTopic]) != testPartitions {
		t.Errorf("the publisher writes to %s, and has %d queues of %s", p.current[testTopic], len(p.queues[testTopic]), testTopic)
	}
}
