package maintenance_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"footfall/consumer/eventlog"
)

// A counted generation is deleted, as consumer grow advises, and a client that still has its name makes Kafka create it again. Consumers
// ignore the new topic, whatever it holds.
func TestConsumerIgnoresADeletedGenerationThatIsCreatedAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	f := func(partitions, messages int) {
		t.Helper()
		f := newField(t, 2)
		for n := 0; len(f.sent) < 20; n++ { // partition 0 stays empty
			if e := click(n); eventlog.PartitionOf([]byte(e.KafkaKey()), eventlog.PartitionNumbers(2)) == 1 {
				f.send(t, e)
			}
		}
		stop := f.consume(t)
		if err := f.grow(t.Context(), 3, time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		f.recreate(t, partitions)
		for n := range messages {
			if err := f.put(t, "clicks", click(1000+n), partitions); err != nil {
				t.Fatal(err)
			}
		}
		f.topic, f.sizes["clicks-g2"] = "clicks-g2", 3
		for n := range 30 {
			f.send(t, click(500+n)) // new ids: those of the deleted topic cannot be recognised any more
		}
		stop = f.consume(t)
		f.counted(t)
		if err := stop(); err != nil {
			t.Errorf("created again with %d partitions and %d messages: %v", partitions, messages, err)
		}
	}
	f(1, 0)
	f(2, 0)
	f(2, 100) // further than it was sealed
}

// A topic that has fewer partitions than it was counted with is another one: Kafka never removes partitions. consumer grow refuses it too:
// its seal, which is for good, would lack partitions.
func TestGrowRefusesATopicRecreatedWithFewerPartitions(t *testing.T) {
	f := newField(t, 3)
	f.send(t, click(1))
	stop := f.consume(t)
	f.counted(t)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	f.recreate(t, 2)
	err := <-f.run(t.Context(), t)
	if !eventlog.IsRefusal(err) || !strings.Contains(err.Error(), "created anew") || strings.Contains(err.Error(), "consumer grow") {
		t.Errorf("the consumer ended with %v", err)
	}
	if err := f.grow(t.Context(), 4, time.Millisecond); err == nil || !strings.Contains(err.Error(), "created anew") {
		t.Errorf("growing it: %v", err)
	}
	if f.store.Settings[eventlog.Fact("clicks", eventlog.FactSealed)] != "" {
		t.Error("it is sealed")
	}
}

// The check of visitors.ip_ttl covers later generations of clicks too.
func TestVisitorRowsMustOutliveTheClicksOfALaterGeneration(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	f := newField(t, 1)
	f.cfg.Visitors.IPTTL = 26 * time.Hour
	if err := f.grow(t.Context(), 2, time.Minute); err != nil { // there is nothing to count
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := <-f.run(ctx, t); err == nil || !strings.Contains(err.Error(), "topic clicks-g2 keeps its events") {
		t.Errorf("the consumer ended with %v", err)
	}
}
