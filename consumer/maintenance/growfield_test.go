package maintenance_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/configs"
	"footfall/consumer/eventlog"
	"footfall/consumer/maintenance"
	"footfall/consumer/rollup"
	"footfall/consumer/store/memstore"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/models"
	"footfall/models/modelstest"
)

// field is a broker in process whose topics can grow, a store, consumers, and the events that were sent.
type field struct {
	client *kgo.Client
	store  *memstore.Memory
	cfg    configs.Consumer
	topic  string // of clicks, that the producer writes to
	sizes  map[string]int
	sent   []models.Event
	mu     sync.Mutex // of said
	said   []string
}

func newField(t *testing.T, partitions int32) *field {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "clicks"), kfake.SeedTopics(1, "visits", "dead-letters"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	cfg, err := configs.LoadConsumer("")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Kafka.Brokers, cfg.Chunk.MaxAge, cfg.Duplicates.Window = cluster.ListenAddrs(), 10*time.Millisecond, 1000
	f := &field{store: memstore.New(), cfg: cfg, topic: "clicks", sizes: map[string]int{"clicks": int(partitions)}}
	f.connect(t)
	return f
}

// connect makes a client that has the current metadata of the topics.
func (f *field) connect(t *testing.T) {
	t.Helper()
	var err error
	f.client, err = kgo.NewClient(kgo.SeedBrokers(f.cfg.Kafka.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.client.Close)
}

// run starts a consumer that counts until ctx ends, and returns a channel with Run's error.
func (f *field) run(ctx context.Context, t *testing.T) <-chan error {
	t.Helper()
	c, err := rollup.New(f.cfg, f.store, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	return ended
}

// consume starts a consumer that counts until the test ends, or the returned function is called.
func (f *field) consume(t *testing.T) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := f.run(ctx, t)
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return stop
}

// grow runs consumer grow, and collects what it reports in said.
func (f *field) grow(ctx context.Context, partitions int, wait time.Duration) error {
	return maintenance.RunGrow(ctx, f.cfg, f.store, "clicks", partitions, wait, slog.New(slog.NewTextHandler(io.Discard, nil)), func(line string, args ...any) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.said = append(f.said, fmt.Sprintf(line, args...))
	})
}

// send writes an event as a producer does: when its topic is sealed, it goes on with the next generation.
func (f *field) send(t *testing.T, e models.Event) {
	t.Helper()
	for {
		err := f.put(t, f.topic, e, f.sizes[f.topic])
		if err == nil {
			break
		}
		if !errors.Is(err, kerr.MessageTooLarge) {
			t.Fatal(err)
		}
		base, n := models.SplitGeneration(f.topic)
		f.topic = models.GenerationTopic(base, n+1)
		if f.sizes[f.topic], err = topics.Partitions(t.Context(), dial.Plain(f.cfg.Kafka.Brokers...), f.topic); err != nil {
			t.Fatal(err)
		}
	}
	f.sent = append(f.sent, e)
}

// put writes an event to a topic, into the partition that it would have with that number of partitions.
func (f *field) put(t *testing.T, topic string, e models.Event, partitions int) error {
	t.Helper()
	value, err := models.AppendEvent(nil, e)
	if err != nil {
		t.Fatal(err)
	}
	key := []byte(e.KafkaKey())
	return f.client.ProduceSync(t.Context(), &kgo.Record{
		Topic: topic, Key: key, Value: value, Partition: int32(eventlog.PartitionOf(key, eventlog.PartitionNumbers(partitions))),
	}).FirstErr()
}

// click is the n-th click of a test. The visitors are few, so that all generations have them.
func click(n int) models.Event {
	return &models.Click{V: 1, ID: fmt.Sprint(n), ShortURL: fmt.Sprint("link", n%3), IP: fmt.Sprint("192.0.2.", (n/3)%40), TS: models.Earliest}
}

// want counts the sent events naively: every id once.
func (f *field) want() map[models.Key]map[models.Cell]int64 {
	want, seen, ids := modelstest.Cells{}, modelstest.Seen{}, map[models.Identity]bool{}
	for _, e := range f.sent {
		if ids[e.Identity()] {
			continue
		}
		ids[e.Identity()] = true
		e.Count(seen.First(e), want.Add)
	}
	return want
}

// counted waits until the store's counters are those of the sent events.
func (f *field) counted(t *testing.T) {
	t.Helper()
	want := f.want()
	equal := func() bool {
		f.store.Mu.Lock()
		defer f.store.Mu.Unlock()
		return maps.EqualFunc(f.store.Counters, want, maps.Equal)
	}
	for until := time.Now().Add(60 * time.Second); !equal(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			f.store.Mu.Lock()
			defer f.store.Mu.Unlock()
			t.Fatalf("counted %v, want %v\nthe operator was told %q", f.store.Counters, want, f.said)
		}
	}
}

func (f *field) remove(t *testing.T, topic string) {
	t.Helper()
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.TopicNames = []string{topic}
	request.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &topic}}
	answer, err := request.RequestWith(t.Context(), f.client)
	if err != nil || answer.Topics[0].ErrorCode != 0 {
		t.Fatal(answer, err)
	}
}

// recreate deletes the topic of clicks and creates it anew, empty.
func (f *field) recreate(t *testing.T, partitions int) {
	t.Helper()
	f.remove(t, "clicks")
	if err := topics.Ensure(t.Context(), dial.Plain(f.cfg.Kafka.Brokers...), []string{"clicks"}, partitions, -1, true); err != nil {
		t.Fatal(err)
	}
	f.connect(t)
}

func (f *field) ends(t *testing.T, topic string, partitions int) map[int]int64 {
	t.Helper()
	ends, err := topics.Ends(t.Context(), dial.Plain(f.cfg.Kafka.Brokers...), topic, partitions)
	if err != nil {
		t.Fatal(err)
	}
	return ends
}
