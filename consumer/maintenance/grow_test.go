package maintenance_test

import (
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/consumer/eventlog"
	"footfall/consumer/maintenance"
	"footfall/consumer/rollup"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/models"
)

// Two consumers count while a topic grows and shrinks. Some ids are sent again after a seal, and all generations have the same visitors.
func TestGrowWhileConsumersCount(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	f := newField(t, 3)
	f.consume(t)
	leave := f.consume(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	next := 0
	load := func(done <-chan error) {
		for {
			select {
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
				return
			default:
			}
			f.send(t, click(next))
			if rnd.IntN(4) == 0 {
				f.send(t, f.sent[max(0, len(f.sent)-1-rnd.IntN(50))])
			}
			next++
			time.Sleep(2 * time.Millisecond) // or everything would be in doubt for the window's length
		}
	}
	for i, partitions := range []int{5, 2} {
		done := make(chan error, 1)
		go func() { done <- f.grow(t.Context(), partitions, time.Minute) }()
		load(done)
		if want := models.GenerationTopic("clicks", i+2); f.topic != want {
			t.Fatalf("the producer writes to %s, want %s", f.topic, want)
		}
		if i == 0 {
			if err := leave(); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.counted(t)
	if len(f.store.OwnerRows) != 3+5+2+1 {
		t.Errorf("partitions were taken of %v", slices.Collect(maps.Keys(f.store.OwnerRows)))
	}
	// Another run has nothing to do.
	if err := f.grow(t.Context(), 2, time.Minute); err != nil {
		t.Error(err)
	}
}

// Without consumers, consumer grow seals the topic, and tells the operator that nobody counts. A second run goes on.
func TestGrowWithoutConsumers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	f := newField(t, 1)
	for n := range 3 {
		f.send(t, click(n))
	}
	err := f.grow(t.Context(), 2, 10*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "3 messages before the seal are not counted yet; nobody counts") {
		t.Fatalf("growing without consumers: %v", err)
	}
	for n := range 9 {
		f.send(t, click(n)) // some of them again
	}
	if f.topic != "clicks-g2" {
		t.Fatalf("the producer writes to %s", f.topic)
	}
	f.consume(t)
	f.counted(t)
	if err := f.grow(t.Context(), 2, time.Minute); err != nil {
		t.Error(err)
	}
	f.store.Mu.Lock()
	defer f.store.Mu.Unlock()
	if f.store.Settings[eventlog.Fact("clicks", eventlog.FactCounted)] == "" {
		t.Error("the store does not record that the first generation is counted")
	}
}

// Somebody adds partitions to the topic by hand. Consumers stop before an event that was placed by the new number becomes a dead letter, and
// refuse to start until consumer grow has run. Then every event is counted once.
func TestGrowAfterPartitionsWereAdded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	f := newField(t, 2)
	running := f.run(t.Context(), t)
	for n := range 20 {
		f.send(t, click(n))
	}
	f.counted(t)
	request := kmsg.NewPtrCreatePartitionsRequest()
	request.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "clicks", Count: 5}}
	if _, err := request.RequestWith(t.Context(), f.client); err != nil {
		t.Fatal(err)
	}
	f.connect(t)
	f.sizes["clicks"] = 5
	for n := range 60 {
		f.send(t, click(n))
	}
	for _, ended := range []<-chan error{running, f.run(t.Context(), t)} {
		select {
		case err := <-ended:
			if refused := (*eventlog.Refusal)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "consumer grow --topic clicks") {
				t.Errorf("the consumer ended with %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the consumer did not stop")
		}
	}
	if err := f.grow(t.Context(), 3, time.Millisecond); err == nil || !strings.Contains(err.Error(), "gave up") {
		t.Fatal(err)
	}
	for n := range 90 {
		f.send(t, click(n))
	}
	f.consume(t)
	if err := f.grow(t.Context(), 3, time.Minute); err != nil {
		t.Fatal(err)
	}
	f.counted(t)
	ends, err := topics.Ends(t.Context(), dial.Plain(f.cfg.Kafka.Brokers...), "dead-letters", 1)
	if err != nil || ends[0] > 0 {
		t.Errorf("%d dead letters, %v", ends[0], err)
	}
}

// Somebody removes the seal and writes. Another consumer grow carries those messages over, once.
func TestGrowCarriesOverMessagesBeyondTheSeal(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	f := newField(t, 2)
	f.consume(t)
	for n := range 20 {
		f.send(t, click(n))
	}
	if err := f.grow(t.Context(), 3, time.Minute); err != nil {
		t.Fatal(err)
	}
	value := "1000000"
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	request.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "clicks",
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "max.message.bytes", Value: &value}},
	}}
	if _, err := request.RequestWith(t.Context(), f.client); err != nil {
		t.Fatal(err)
	}
	for n := range 30 {
		f.send(t, click(n)) // to the old topic: its seal is off
	}
	if f.topic != "clicks" {
		t.Fatalf("the producer writes to %s", f.topic)
	}
	for range 2 {
		if err := f.grow(t.Context(), 3, time.Minute); err != nil {
			t.Fatal(err)
		}
		f.counted(t)
	}
	f.send(t, click(31))
	f.counted(t)
	if f.topic != "clicks-g2" {
		t.Errorf("the topic was not sealed again: the producer writes to %s", f.topic)
	}

	// As if a run was killed after it wrote and before it recorded that: the next one finds those messages in the log.
	f.store.Mu.Lock()
	maps.DeleteFunc(f.store.Settings, func(name, _ string) bool { return strings.HasPrefix(name, eventlog.Fact("clicks", "carried ")) })
	f.store.Mu.Unlock()
	before := f.ends(t, "clicks-g2", 3)
	if err := f.grow(t.Context(), 3, time.Minute); err != nil {
		t.Fatal(err)
	}
	if after := f.ends(t, "clicks-g2", 3); !maps.Equal(before, after) {
		t.Errorf("messages were carried over twice: ends %v, before %v", after, before)
	}
}

// Tables are counted from one topic of clicks and one of visits. A consumer refuses any other.
func TestConsumerRefusesOtherTopics(t *testing.T) {
	f := newField(t, 2)
	f.send(t, click(1))
	stop := f.consume(t)
	f.counted(t)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := topics.Ensure(t.Context(), dial.Plain(f.cfg.Kafka.Brokers...), []string{"clicks-v2"}, 4, -1, true); err != nil {
		t.Fatal(err)
	}
	f.cfg.Kafka.Topics.Clicks = "clicks-v2"
	err := <-f.run(t.Context(), t)
	if err == nil || !strings.Contains(err.Error(), "counted from topic clicks, not from clicks-v2") || !eventlog.IsRefusal(err) {
		t.Errorf("the consumer ended with %v", err)
	}
}

// A counted generation may be deleted: running consumers go on, and later ones start, even if somebody creates another topic of that name.
// If an uncounted generation is missing, a consumer refuses to start.
func TestConsumerWithADeletedGeneration(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	f := newField(t, 2)
	stop := f.consume(t)
	for n := range 20 {
		f.send(t, click(n))
	}
	if err := f.grow(t.Context(), 3, time.Minute); err != nil {
		t.Fatal(err)
	}
	f.send(t, click(21))
	f.counted(t)
	f.remove(t, "clicks")
	for n := range 9 {
		f.send(t, click(30+n))
		f.counted(t)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for i, again := range []func(){
		func() {},
		func() {
			if err := topics.Ensure(t.Context(), dial.Plain(f.cfg.Kafka.Brokers...), []string{"clicks"}, 1, -1, true); err != nil {
				t.Fatal(err)
			}
		},
	} {
		again()
		f.send(t, click(40+i))
		stop := f.consume(t)
		f.counted(t)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	f.remove(t, "clicks")
	f.store.Mu.Lock()
	delete(f.store.Settings, eventlog.Fact("clicks", eventlog.FactCounted))
	f.store.Mu.Unlock()
	if err := <-f.run(t.Context(), t); err == nil || !strings.Contains(err.Error(), "not all of its events are counted") {
		t.Errorf("the consumer that lacks an uncounted generation ended with %v", err)
	}
}

// consumer retire refuses while a topic grows: its offsets are those of one generation.
func TestRetireRefusesWhileATopicGrows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	f := newField(t, 1)
	retire := func() error {
		c, err := rollup.New(f.cfg, f.store, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		src, err := c.Sources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return maintenance.NotGrowing(t.Context(), c.Log, src.Newest("clicks"))
	}
	f.send(t, click(1))
	if err := retire(); err != nil {
		t.Error(err)
	}
	if err := f.grow(t.Context(), 2, time.Millisecond); err == nil {
		t.Fatal("consumer grow finished without consumers")
	}
	if err := retire(); err == nil || !strings.Contains(err.Error(), "is being grown") {
		t.Errorf("while clicks are grown: %v", err)
	}
	f.consume(t)
	if err := f.grow(t.Context(), 2, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := retire(); err != nil {
		t.Error(err)
	}
}

// The last offset of a sealed partition is a transaction marker. It is no event, and consumers reach the seal all the same.
func TestGrowATopicThatEndsWithATransactionMarker(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	f := newField(t, 1)
	f.consume(t)
	writer, err := kgo.NewClient(kgo.SeedBrokers(f.cfg.Kafka.Brokers...), kgo.TransactionalID("writer"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if err := writer.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	plain := f.client
	f.client = writer
	for n := range 5 {
		f.send(t, click(n))
	}
	if err := writer.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	f.client = plain
	if err := f.grow(t.Context(), 2, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	f.send(t, click(7))
	f.counted(t)
	if got := f.store.OwnerRows[models.Partition{Topic: "clicks"}].Committed; got != 6 {
		t.Errorf("five messages and a marker are counted to %d", got)
	}
}
