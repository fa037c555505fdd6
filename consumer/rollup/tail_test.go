package rollup

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/consumer/eventlog"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/models"
	"footfall/test/harness"
)

// recreate deletes the topic of clicks and creates it anew.
func (b *bench) recreate(t *testing.T) {
	t.Helper()
	topic, client := b.cfg.Kafka.Topics.Clicks, &kafka.Client{Addr: kafka.TCP(b.cfg.Kafka.Brokers...)}
	answer, err := client.DeleteTopics(t.Context(), &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err = errors.Join(err, answer.Errors[topic]); err != nil {
		t.Fatal(err)
	}
	via := dial.Plain(b.cfg.Kafka.Brokers...)
	for until := time.Now().Add(patience); topics.Check(t.Context(), via, []string{topic}) == nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the topic is still there")
		}
	}
	if err := topics.Ensure(t.Context(), via, []string{topic}, 1, 1, true); err != nil {
		t.Fatal(err)
	}
	b.client.PurgeTopicsFromClient(topic)
}

// A consumer refuses, at every start, a log that has other events than those that were counted, whether it is as long as before or
// longer. Kafka deletes the group's offsets with the topic, so the store has to know the last event.
func TestALogWithOtherEvents(t *testing.T) { onBoth(t, 1, aLogWithOtherEvents) }

func aLogWithOtherEvents(t *testing.T, b *bench) {
	b.send(t, 0, 30)
	b.finishes(t, 30)
	b.recreate(t)
	b.send(t, 100, 130)
	other := fmt.Sprintf("offset 29 of topic %s, partition 0, is not the event that was counted", b.cfg.Kafka.Topics.Clicks)
	b.refused(t, other)
	b.send(t, 130, 140)
	b.refused(t, other)
	b.move(t, 0, 5)
	b.refused(t, other)
	if n := b.clicks(); n != 30 {
		t.Errorf("%d clicks are counted, want the 30 of the log that is gone", n)
	}
}

// A consumer ends when its topic is deleted and made anew while it counts, with as many events as before: it would skip the first of them.
func TestATopicMadeAnewWhileItIsCounted(t *testing.T) { onBoth(t, 1, aTopicMadeAnewWhileItIsCounted) }

func aTopicMadeAnewWhileItIsCounted(t *testing.T, b *bench) {
	defer func(before time.Duration) { watchInterval = before }(watchInterval)
	watchInterval = 50 * time.Millisecond
	stop, ended := b.start(t, "one")
	defer stop()
	b.send(t, 0, 3)
	b.counts(t, 3)
	harness.Within(t, patience, "the store knows the last event", func() error {
		known, err := b.memory.Tail(t.Context(), models.Partition{Topic: b.cfg.Kafka.Topics.Clicks})
		if err == nil && known.Offset != 3 {
			err = fmt.Errorf("it knows %+v", known)
		}
		return err
	})
	var held atomic.Bool
	held.Store(true)
	if b.cluster != nil { // else the consumer may ask for offset 3 of a log that does not have it yet, and refuse that as it always did
		for _, asks := range []kmsg.Key{kmsg.Fetch, kmsg.ListOffsets} {
			b.cluster.ControlKey(int16(asks), func(kmsg.Request) (kmsg.Response, error, bool) {
				b.cluster.KeepControl()
				return nil, errors.New("not now"), held.Load()
			})
		}
	}
	b.recreate(t)
	b.send(t, 100, 110)
	held.Store(false)
	select {
	case err := <-ended:
		if !eventlog.IsRefusal(err) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(patience):
		t.Errorf("it goes on: %d clicks are counted, the first three of the new topic never", b.clicks())
	}
}

// After a crash the store knows only an older event. The mark beside the group's offset knows the last one.
func TestALogThatLostItsTail(t *testing.T) {
	b := newBench(t, 1)
	b.send(t, 0, 30)
	b.finishes(t, 30)
	b.store = crashing{b.memory}
	b.send(t, 30, 40)
	b.finishes(t, 40)
	b.store = b.memory
	clicks := models.Partition{Topic: "clicks"}
	if known, err := b.memory.Tail(t.Context(), clicks); err != nil || known.Offset != 30 {
		t.Fatalf("the store knows %+v, %v; want what was counted before the crash", known, err)
	}
	marked := b.place(t, clicks)

	b.recreate(t)
	b.send(t, 0, 35) // the same events again, but for the last five
	b.send(t, 135, 145)
	b.put(t, marked) // an unclean election leaves the group as it was
	b.refused(t, "offset 39 of topic clicks, partition 0, is not the event that was counted")
}

// If the last counted event is deleted, it cannot be compared, and the consumer goes on.
func TestALogWhoseTailIsDeleted(t *testing.T) {
	b := newBench(t, 1)
	b.send(t, 0, 30)
	b.finishes(t, 30)
	b.deleteRecords(t, 30)
	b.finishes(t, 30)
	b.send(t, 30, 35)
	b.finishes(t, 35)
}

// SumAt reads one message out of a batch of many.
func TestOneMessageOfABatch(t *testing.T) { onBoth(t, 1, oneMessageOfABatch) }

func oneMessageOfABatch(t *testing.T, b *bench) {
	p, via := models.Partition{Topic: b.cfg.Kafka.Topics.Clicks}, dial.Plain(b.cfg.Kafka.Brokers...)
	var records []*kgo.Record
	for i := range 20 {
		records = append(records, &kgo.Record{Topic: p.Topic, Key: fmt.Append(nil, "key", i), Value: bytes.Repeat([]byte{'a' + byte(i)}, 1000)})
	}
	if err := b.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if sum, err := eventlog.SumAt(t.Context(), via, p, r.Offset); err != nil || sum != eventlog.SumOf(r.Key, r.Value) {
			t.Errorf("offset %d: %q, %v; want %q", r.Offset, sum, err, eventlog.SumOf(r.Key, r.Value))
		}
	}
	if sum, err := eventlog.SumAt(t.Context(), via, p, 40); err != nil || sum != "" {
		t.Errorf("beyond the end: %q, %v", sum, err)
	}
	b.deleteRecords(t, 10)
	if sum, err := eventlog.SumAt(t.Context(), via, p, 9); err != nil || sum != "" {
		t.Errorf("deleted: %q, %v", sum, err)
	}
	const known = "038cf63109a3e1d5dba1ce0033898675"
	if sum := eventlog.SumOf([]byte("key"), []byte("value")); sum != known || sum == eventlog.SumOf([]byte("keyv"), []byte("alue")) {
		t.Errorf("the fingerprint that stores hold has changed: %s", sum)
	}
}
