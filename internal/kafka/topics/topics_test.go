package topics_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/configs"
	"footfall/deployments/stack"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/dial/dialtest"
	"footfall/internal/kafka/topics"
	"footfall/internal/retry"
)

var names = []string{"clicks", "visits", "dead-letters"}

func cluster(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, []string) {
	t.Helper()
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, c.ListenAddrs()
}

func ensure(t *testing.T, brokers []string) {
	t.Helper()
	if err := topics.Ensure(t.Context(), dial.Plain(brokers...), names, 6, -1, true); err != nil {
		t.Fatal(err)
	}
}

func wantPartitions(t *testing.T, brokers []string, topic string, want int) {
	t.Helper()
	if got, err := topics.Partitions(t.Context(), dial.Plain(brokers...), topic); err != nil || got != want {
		t.Errorf("Partitions(%s) = %d, %v; want %d", topic, got, err, want)
	}
}

func TestEnsureNamesMissingTopics(t *testing.T) {
	c, brokers := cluster(t, kfake.SeedTopics(2, "clicks"))
	err := topics.Ensure(t.Context(), dial.Plain(brokers...), names, 6, 3, false)
	if !errors.Is(err, topics.ErrMissing) {
		t.Fatalf("Ensure = %v", err)
	}
	for _, part := range []string{
		"visits, dead-letters: topic does not exist", "kafka.create_topics: true", "producer topics",
		"kafka-topics.sh --bootstrap-server " + strings.Join(brokers, ",") + " --create --partitions 6 --replication-factor 3 --topic visits",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	if c.TopicInfo("visits") != nil {
		t.Error("Ensure created a topic without create")
	}
	if _, err := topics.Partitions(t.Context(), dial.Plain(brokers...), "visits"); !errors.Is(err, topics.ErrMissing) {
		t.Errorf("Partitions = %v", err)
	}
	if retry.IsFinal(err) {
		t.Errorf("nobody would wait for a topic: %v", err)
	}
	if err := topics.Check(t.Context(), dial.Plain(brokers...), names); !errors.Is(err, topics.ErrMissing) {
		t.Errorf("Check = %v", err)
	}
}

func TestEnsureCreatesMissingTopicsAndLeavesExistingOnes(t *testing.T) {
	_, brokers := cluster(t, kfake.SeedTopics(2, "clicks"))
	ensure(t, brokers)
	ensure(t, brokers)
	wantPartitions(t, brokers, "clicks", 2)
	wantPartitions(t, brokers, "visits", 6)
	wantPartitions(t, brokers, "dead-letters", 6)
	if err := topics.Ensure(t.Context(), dial.Plain(brokers...), names, 6, -1, false); err != nil {
		t.Errorf("Ensure without create = %v", err)
	}
	if err := topics.Check(t.Context(), dial.Plain(brokers...), names); err != nil {
		t.Errorf("Check = %v", err)
	}
}

func TestEnsureConcurrently(t *testing.T) {
	_, brokers := cluster(t)
	var group sync.WaitGroup
	for range 12 {
		group.Go(func() {
			if err := topics.Ensure(t.Context(), dial.Plain(brokers...), names, 6, -1, true); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, name := range names {
		wantPartitions(t, brokers, name, 6)
	}
}

// Ensure retries errors that a broker returns while it starts.
func TestEnsureRetriesTemporaryErrors(t *testing.T) {
	f := func(name string, fault kfake.Fault) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, brokers := cluster(t)
			handle := c.Fault(fault)
			ensure(t, brokers)
			if hits := handle.Hits(); hits != fault.Count {
				t.Errorf("the broker failed %d times, want %d", hits, fault.Count)
			}
			wantPartitions(t, brokers, "visits", 6)
		})
	}
	create, metadata := []kmsg.Key{kmsg.CreateTopics}, []kmsg.Key{kmsg.Metadata}
	f("not controller", kfake.Fault{Keys: create, Err: kerr.NotController, Count: 2})
	f("too few brokers yet", kfake.Fault{Keys: create, Err: kerr.InvalidReplicationFactor, Count: 2})
	f("created but timed out", kfake.Fault{Keys: create, Err: kerr.RequestTimedOut, Count: 1})
	f("one of the topics only", kfake.Fault{Keys: create, Topic: "visits", Err: kerr.UnknownServerError, Count: 2})
	f("no leader of a topic", kfake.Fault{Keys: metadata, Topic: "clicks", Err: kerr.LeaderNotAvailable, Count: 3})
}

// Ensure waits for leaders: without one a partition cannot be written to.
func TestEnsureWaitsForLeaders(t *testing.T) {
	c, brokers := cluster(t, kfake.NumBrokers(1), kfake.SeedTopics(1, names...))
	host, port, err := net.SplitHostPort(brokers[0])
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	leaderless := func(request kmsg.Request) (kmsg.Response, error, bool) {
		response := request.ResponseKind().(*kmsg.MetadataResponse)
		response.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 0, Host: host, Port: int32(number)}}
		for _, name := range names {
			response.Topics = append(response.Topics, kmsg.MetadataResponseTopic{
				Topic: &name, Partitions: []kmsg.MetadataResponseTopicPartition{{Partition: 0, Leader: -1}},
			})
		}
		return response, nil, true
	}
	c.ControlKey(int16(kmsg.Metadata), leaderless)
	if err := topics.Check(t.Context(), dial.Plain(brokers...), names); err == nil || !strings.Contains(err.Error(), "no leader") {
		t.Errorf("Check = %v", err)
	}
	asked := 0
	c.ControlKey(int16(kmsg.Metadata), func(request kmsg.Request) (kmsg.Response, error, bool) {
		if asked++; asked > 3 {
			return nil, nil, false
		}
		c.KeepControl()
		return leaderless(request)
	})
	if err := topics.Ensure(t.Context(), dial.Plain(brokers...), names, 1, -1, false); err != nil {
		t.Error(err)
	}
	if asked < 4 {
		t.Errorf("Ensure asked %d times: it did not wait for the leaders", asked)
	}
}

func TestEnsureDoesNotRetryHopelessErrors(t *testing.T) {
	_, brokers := cluster(t)
	began := time.Now()
	err := topics.Ensure(t.Context(), dial.Plain(brokers...), names, 0, -1, true)
	if !errors.Is(err, kafka.InvalidPartitionNumber) || !strings.Contains(err.Error(), "creating topic") {
		t.Errorf("Ensure with 0 partitions = %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Ensure took %v: it retried", took)
	}
}

func TestEnsureDoesNotRetryAnUntrustedBroker(t *testing.T) {
	files := dialtest.NewFiles(t)
	_, brokers := cluster(t, kfake.NumBrokers(1), kfake.TLS(files.Server), kfake.EnableSASL(), kfake.Superuser("PLAIN", "producer", "secret"))
	via, err := dial.New(configs.KafkaClient{Brokers: brokers, TLS: configs.TLS{Enabled: true, CA: dialtest.NewFiles(t).CA},
		SASL: configs.SASL{Mechanism: "plain", Username: "producer", Password: "secret"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := topics.Reach(t.Context(), via); !retry.IsFinal(err) || strings.Contains(err.Error(), "is Kafka running there?") {
		t.Errorf("Reach = %v", err)
	}
	began := time.Now()
	err = topics.Ensure(t.Context(), via, names, 6, -1, true)
	if err == nil || !retry.IsFinal(err) || !strings.Contains(err.Error(), "unknown authority") || time.Since(began) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

// A server that is no Kafka is refused at once.
func TestAWebServerIsNoKafka(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	began := time.Now()
	err := topics.Ensure(t.Context(), dial.Plain(server.Listener.Addr().String()), names, 6, -1, true)
	if err == nil || !retry.IsFinal(err) || !strings.Contains(err.Error(), "no Kafka") || time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

func TestEnsureWithAnUnreachableBroker(t *testing.T) {
	ports, err := stack.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	broker := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	if err := topics.Reach(t.Context(), dial.Plain(broker)); err == nil || retry.IsFinal(err) || !strings.Contains(err.Error(), "is Kafka running there?") {
		t.Errorf("Reach = %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err = topics.Ensure(ctx, dial.Plain(broker), names, 6, -1, true)
	for _, part := range []string{broker, "connection refused", "kafka.brokers"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}

	// the same, but the broker starts while Ensure waits
	done := make(chan error, 1)
	go func() { done <- topics.Ensure(t.Context(), dial.Plain(broker), names, 6, -1, true) }()
	select {
	case err := <-done:
		t.Fatalf("Ensure did not wait: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	cluster(t, kfake.Ports(ports[0]))
	if err := <-done; err != nil {
		t.Error(err)
	}
}
