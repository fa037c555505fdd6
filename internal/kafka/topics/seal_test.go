package topics_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"

	"footfall/deployments/stack/stacktest"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
)

func TestSealing(t *testing.T) {
	_, brokers := cluster(t, kfake.NumBrokers(3))
	testSealing(t, dial.Plain(brokers...), "visits")
}

// A real broker decides what is rejected: kfake only imitates it.
func TestSealingOnKafka(t *testing.T) {
	addr, _, _ := stacktest.Require(t)
	topic := "visits-" + uuid.NewString()[:8]
	client := &kafka.Client{Addr: kafka.TCP(addr)}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if _, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic, topic + "-g2"}}); err != nil {
			t.Error(err)
		}
	})
	testSealing(t, dial.Plain(addr), topic)
}

// Writers go on while a topic is sealed. Everything that was acknowledged lies before the ends that Seal returns, and nothing is appended later.
func testSealing(t *testing.T, via dial.Kafka, topic string) {
	t.Helper()
	const partitions = 3
	if err := topics.Ensure(t.Context(), via, []string{topic}, partitions, -1, true); err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	written := make([]int64, partitions)
	for p := range partitions {
		writing.Go(func() {
			for {
				switch err := write(t.Context(), via, topic, p); {
				case err == nil:
					written[p]++
				case errors.Is(err, kafka.MessageSizeTooLarge):
					return
				default:
					t.Errorf("writing to partition %d: %v", p, err)
					return
				}
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	if sealed, err := topics.Sealed(t.Context(), via, topic); sealed || err != nil {
		t.Errorf("before: sealed %v, %v", sealed, err)
	}
	ends, err := topics.Seal(t.Context(), via, topic)
	if err != nil {
		t.Fatal(err)
	}
	if sealed, err := topics.Sealed(t.Context(), via, topic); !sealed || err != nil {
		t.Errorf("after: sealed %v, %v", sealed, err)
	}
	writing.Wait() // until every writer was rejected
	for p, n := range written {
		if n == 0 || ends[p] < n {
			t.Errorf("partition %d ends at %d, %d were written", p, ends[p], n)
		}
	}
	testSuccessor(t, via, topic)
	again, err := topics.Seal(t.Context(), via, topic)
	if err != nil || !maps.Equal(again, ends) {
		t.Errorf("sealed again it ends at %v (%v), before at %v", again, err, ends)
	}
}

func write(ctx context.Context, via dial.Kafka, topic string, partition int) error {
	answer, err := via.Client(10*time.Second).Produce(ctx, &kafka.ProduceRequest{
		Topic: topic, Partition: partition, RequiredAcks: kafka.RequireAll,
		Records: kafka.NewRecordReader(kafka.Record{Value: kafka.NewBytes([]byte("event"))}),
	})
	if err == nil {
		err = answer.Error
	}
	return err
}

// The next generation is like the sealed one, except for the number of partitions and the seal.
func testSuccessor(t *testing.T, via dial.Kafka, topic string) {
	t.Helper()
	client := via.Client(10 * time.Second)
	_, err := client.IncrementalAlterConfigs(t.Context(), &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: "retention.ms", Value: "777600000"}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	next := topic + "-g2"
	for range 2 { // CreateLike is idempotent
		if err := topics.CreateLike(t.Context(), via, next, topic, 5); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := topics.Partitions(t.Context(), via, next); err != nil || n != 5 {
		t.Errorf("the next generation has %d partitions (%v), want 5", n, err)
	}
	// This client's metadata may be older than the topic.
	if err := write(t.Context(), dial.Plain(via.Brokers...), next, 4); err != nil {
		t.Errorf("writing to the next generation: %v", err)
	}
	answer, err := client.DescribeConfigs(t.Context(), &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{
		{ResourceType: kafka.ResourceTypeTopic, ResourceName: next, ConfigNames: []string{"retention.ms"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if e := answer.Resources[0].ConfigEntries; len(e) != 1 || e[0].ConfigValue != "777600000" {
		t.Errorf("the next generation has retention.ms %v, want that of the one before it", e)
	}
}
