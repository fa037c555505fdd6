package rollup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/configs"
	"footfall/models"
	"footfall/producer/dial"
	"footfall/producer/topics"
)

// field is a broker in process whose topics grow, a store, consumers, and what was sent.
type field struct {
	client *kgo.Client
	store  *memory
	cfg    configs.Consumer
	topic  string // of clicks, as the door knows it
	sizes  map[string]int
	sent   []models.Event
	mu     sync.Mutex // of what the operator is told
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
	f := &field{store: newMemory(), cfg: cfg, topic: "clicks", sizes: map[string]int{"clicks": int(partitions)}}
	f.connect(t)
	return f
}

// connect makes a client that knows the topics as they are now.
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

// run starts a consumer that counts until ctx ends, and tells how that went.
func (f *field) run(ctx context.Context, t *testing.T) <-chan error {
	t.Helper()
	c, err := New(f.cfg, f.store, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(io.Discard, nil)))
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

// grow is an operator who runs the command.
func (f *field) grow(ctx context.Context, partitions int, wait time.Duration) error {
	return RunGrow(ctx, f.cfg, f.store, "clicks", partitions, wait, slog.New(slog.NewTextHandler(io.Discard, nil)), func(line string, args ...any) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.said = append(f.said, fmt.Sprintf(line, args...))
	})
}

// send writes an event as a door does: to the newest generation, when the one it knew is sealed.
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

// put writes an event to a topic, placed as if it had so many partitions.
func (f *field) put(t *testing.T, topic string, e models.Event, partitions int) error {
	t.Helper()
	value, err := models.AppendEvent(nil, e)
	if err != nil {
		t.Fatal(err)
	}
	key := []byte(e.KafkaKey())
	return f.client.ProduceSync(t.Context(), &kgo.Record{
		Topic: topic, Key: key, Value: value, Partition: int32(partitionOf(key, numbers(partitions))),
	}).FirstErr()
}

// click is the nth of the test: few visitors, who are on all generations.
func click(n int) models.Event {
	return &models.Click{V: 1, ID: fmt.Sprint(n), ShortURL: fmt.Sprint("link", n%3), IP: fmt.Sprint("192.0.2.", (n/3)%40), TS: models.Earliest}
}

// want counts what was sent naively: every id once.
func (f *field) want() map[models.Key]map[models.Cell]int64 {
	want := map[models.Key]map[models.Cell]int64{}
	seen, ids := map[models.Sighting]bool{}, map[models.Identity]bool{}
	for _, e := range f.sent {
		if ids[e.Identity()] {
			continue
		}
		ids[e.Identity()] = true
		var first []bool
		for _, s := range e.Sightings() {
			first = append(first, !seen[s])
			seen[s] = true
		}
		e.Count(first, func(key models.Key, cell models.Cell, n int64) {
			if want[key] == nil {
				want[key] = map[models.Cell]int64{}
			}
			want[key][cell] += n
		})
	}
	return want
}

// counted waits until the counters are those of what was sent.
func (f *field) counted(t *testing.T) {
	t.Helper()
	want := f.want()
	equal := func() bool {
		f.store.mu.Lock()
		defer f.store.mu.Unlock()
		return maps.EqualFunc(f.store.cells, want, maps.Equal)
	}
	for until := time.Now().Add(60 * time.Second); !equal(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			f.store.mu.Lock()
			defer f.store.mu.Unlock()
			t.Fatalf("counted %v, want %v\nthe operator was told %q", f.store.cells, want, f.said)
		}
	}
}

// TestGrowing: two consumers count while a topic grows and shrinks, with ids that are sent again across the seals, and visitors in all
// generations.
func TestGrowing(t *testing.T) {
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
			t.Fatalf("the door writes to %s, want %s", f.topic, want)
		}
		if i == 0 {
			if err := leave(); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.counted(t)
	if len(f.store.owners) != 3+5+2+1 {
		t.Errorf("partitions were taken of %v", slices.Collect(maps.Keys(f.store.owners)))
	}
	// Run once more it has nothing to do.
	if err := f.grow(t.Context(), 2, time.Minute); err != nil {
		t.Error(err)
	}
}

// TestGrowingWithoutConsumers: the topic is sealed, and the operator is told who is missing. To run it again goes on.
func TestGrowingWithoutConsumers(t *testing.T) {
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
		t.Fatalf("the door writes to %s", f.topic)
	}
	f.consume(t)
	f.counted(t)
	if err := f.grow(t.Context(), 2, time.Minute); err != nil {
		t.Error(err)
	}
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	if f.store.settings[fact("clicks", factCounted)] == "" {
		t.Error("nobody recorded that the first generation is counted")
	}
}

// TestAddedPartitions: somebody gives the topic more partitions by hand. Consumers stop before anything that was placed by their number is a
// dead letter, and stay away until the topic is grown; then every event is counted once.
func TestAddedPartitions(t *testing.T) {
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
			if refused := (*refusal)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "consumer grow --topic clicks") {
				t.Errorf("the consumer ended with %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the consumer goes on")
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

// TestBeyondTheSeal: somebody takes the seal off, and writes. Growing again carries that over, once.
func TestBeyondTheSeal(t *testing.T) {
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
		f.send(t, click(n)) // it still knows the old one
	}
	if f.topic != "clicks" {
		t.Fatalf("the door writes to %s", f.topic)
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
		t.Errorf("the seal was not put on again: the door writes to %s", f.topic)
	}
}

// TestOtherTopicsAreRefused: tables are counted from one topic of clicks and one of visits.
func TestOtherTopicsAreRefused(t *testing.T) {
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
	if err == nil || !strings.Contains(err.Error(), "counted from topic clicks, not from clicks-v2") || !isRefusal(err) {
		t.Errorf("the consumer ended with %v", err)
	}
}
