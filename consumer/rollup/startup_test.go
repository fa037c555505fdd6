package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/configs"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/deployments/stack/stacktest"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/dial/dialtest"
	"footfall/internal/kafka/topics"
	"footfall/models"
)

// patience is how long a consumer of a few events may take.
const patience = 20 * time.Second

// bench is a broker in process, a store and the configuration of the consumers of both.
type bench struct {
	cluster *kfake.Cluster
	client  *kgo.Client
	store   store.RetireStore
	memory  *memstore.Memory
	cfg     configs.Consumer
	said    strings.Builder // what the last consumer logged
	during  func()          // is called before a consumer is stopped

	keysAtOnce int // that start's consumers write at once; 0: the default
}

// newBench makes a bench with a broker of its own.
func newBench(t *testing.T, partitions int32) *bench { return benchOf(t, 1, partitions) }

func benchOf(t *testing.T, brokers int, partitions int32) *bench {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(brokers), kfake.SeedTopics(partitions, "clicks", "visits", "dead-letters"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	dialtest.WaitForAllReplicas(t, cluster)
	b := benchOn(t, cluster.ListenAddrs())
	b.cluster = cluster
	return b
}

// onBoth runs a test with the broker in process, and with a real Kafka.
func onBoth(t *testing.T, partitions int32, test func(*testing.T, *bench)) {
	t.Run("kfake", func(t *testing.T) { test(t, newBench(t, partitions)) })
	t.Run("kafka", func(t *testing.T) {
		addr, _, _ := stacktest.Require(t)
		b := benchOn(t, []string{addr})
		run := "-" + uuid.NewString()[:8]
		names := []string{"clicks" + run, "visits" + run, "dead-letters" + run}
		b.cfg.Kafka.Group, b.cfg.Kafka.Topics = "footfall"+run, configs.Topics{Clicks: names[0], Visits: names[1], Dead: names[2]}
		if err := topics.Ensure(t.Context(), dial.Plain(addr), names, int(partitions), 1, true); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			if _, err := (&kafka.Client{Addr: kafka.TCP(addr)}).DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: names}); err != nil {
				t.Error(err)
			}
		})
		test(t, b)
	})
}

func benchOn(t *testing.T, brokers []string) *bench {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	cfg, err := configs.LoadConsumer("")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Kafka.Brokers = brokers
	cfg.Chunk.MaxAge = 10 * time.Millisecond
	b := &bench{client: client, cfg: cfg}
	b.newTables()
	return b
}

// newTables gives the bench an empty store.
func (b *bench) newTables() {
	b.memory = memstore.New()
	b.store = b.memory
}

// ask sends a request that kafka-go does not have.
func ask[T kmsg.Response](t *testing.T, b *bench, request interface {
	RequestWith(context.Context, kmsg.Requestor) (T, error)
}) T {
	t.Helper()
	answer, err := request.RequestWith(t.Context(), b.client)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// configure sets a topic's configuration.
func (b *bench) configure(t *testing.T, topic, name, value string) {
	t.Helper()
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	request.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic,
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: name, Value: &value}},
	}}
	if answer := ask(t, b, request); answer.Resources[0].ErrorCode != 0 {
		t.Fatal(answer)
	}
}

// send writes clicks from many visitors.
func (b *bench) send(t *testing.T, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		click := &models.Click{V: 1, ID: fmt.Sprint(i), ShortURL: "link", IP: fmt.Sprint("192.0.2.", i%250), TS: models.Earliest}
		b.write(t, b.cfg.Kafka.Topics.Clicks, click)
	}
}

// clicks is how many clicks are counted.
func (b *bench) clicks() (n int64) {
	b.memory.Mu.Lock()
	defer b.memory.Mu.Unlock()
	for key, cells := range b.memory.Counters {
		for cell, count := range cells {
			if key.Keyspace == models.URLShortener && cell.Counter == models.ClickCounter {
				n += count
			}
		}
	}
	return n
}

// run starts a consumer, waits until so many clicks are counted in all, and stops it. It returns what the consumer ended with.
func (b *bench) run(t *testing.T, want int64) error {
	t.Helper()
	b.said.Reset()
	c, err := New(b.cfg, b.store, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(&b.said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for c.Ready() != nil || b.clicks() != want {
		select {
		case err := <-ended:
			if err == nil {
				t.Fatalf("%d clicks are counted after %v, want %d:\n%s", b.clicks(), patience, want, b.said.String())
			}
			return err
		case <-time.After(5 * time.Millisecond):
		}
	}
	if b.during != nil {
		b.during()
	}
	stop()
	return <-ended
}

// refused runs a consumer that must end with an error that contains these texts.
func (b *bench) refused(t *testing.T, texts ...string) {
	t.Helper()
	err := b.run(t, -1)
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("want an error with %q, got: %v", text, err)
		}
	}
}

// A consumer that may not read its group ends: waiting would not help.
func TestAGroupThatIsRefused(t *testing.T) {
	b := newBench(t, 1)
	b.cluster.ControlKey(int16(kmsg.JoinGroup), func(request kmsg.Request) (kmsg.Response, error, bool) {
		b.cluster.KeepControl()
		answer := request.ResponseKind().(*kmsg.JoinGroupResponse)
		answer.ErrorCode = kerr.GroupAuthorizationFailed.Code
		return answer, nil, true
	})
	c, err := New(b.cfg, b.store, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Run(ctx); !errors.Is(err, kafka.GroupAuthorizationFailed) {
		t.Errorf("it ended with %v, want that the group refuses it", err)
	}
}
