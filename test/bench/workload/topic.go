package workload

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"footfall/models"
)

// Partitions is how many a topic has.
const Partitions = 6 // the producer's default

// Fill writes the events onto a topic, as the producer would have.
func Fill(ctx context.Context, broker, topic string, events []models.Event) error {
	transport := &kafka.Transport{} // the shared one remembers which topics there were
	defer transport.CloseIdleConnections()
	w := &kafka.Writer{
		Addr: kafka.TCP(broker), Topic: topic, Transport: transport, Balancer: kafka.Murmur2Balancer{Consistent: true}, RequiredAcks: kafka.RequireAll,
		BatchSize: 5000, BatchBytes: 900_000, BatchTimeout: 10 * time.Millisecond, Async: false,
	}
	messages := make([]kafka.Message, len(events))
	for i, e := range events {
		messages[i] = kafka.Message{Key: []byte(e.KafkaKey()), Value: Encode(e)}
	}
	for begin := 0; begin < len(messages); begin += 20_000 {
		if err := w.WriteMessages(ctx, messages[begin:min(begin+20_000, len(messages))]...); err != nil {
			return errors.Join(fmt.Errorf("filling %s: %w", topic, err), w.Close())
		}
	}
	return w.Close()
}

// Writable waits until every partition of a new topic can be asked: its leader may be known before it knows itself.
func Writable(ctx context.Context, broker, topic string) error {
	var requests []kafka.OffsetRequest
	for p := range Partitions {
		requests = append(requests, kafka.LastOffsetOf(p))
	}
	for {
		answer, err := (&kafka.Client{Addr: kafka.TCP(broker), Timeout: 10 * time.Second}).ListOffsets(ctx,
			&kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: requests}})
		ready := 0
		if err == nil {
			for _, p := range answer.Topics[topic] {
				if p.Error == nil {
					ready++
				}
			}
		}
		if ready == Partitions {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the topic %s: %w", topic, errors.Join(err, ctx.Err()))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Delete removes topics.
func Delete(ctx context.Context, broker string, names ...string) error {
	_, err := (&kafka.Client{Addr: kafka.TCP(broker)}).DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: names})
	return err
}

// Read hands the first n messages of a topic to take, from one goroutine per partition, as fast as it goes.
func Read(ctx context.Context, broker, topic string, n int, take func(context.Context, kafka.Message) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	var left atomic.Int64
	left.Store(int64(n))
	for p := range Partitions {
		group.Go(func() error {
			r := kafka.NewReader(kafka.ReaderConfig{
				Brokers: []string{broker}, Topic: topic, Partition: p, MinBytes: 1, MaxBytes: 4 << 20, QueueCapacity: 1000,
				MaxWait: 500 * time.Millisecond,
			})
			defer func() { _ = r.Close() }()
			for {
				m, err := r.FetchMessage(ctx)
				if err != nil {
					if ctx.Err() != nil {
						return nil
					}
					return fmt.Errorf("reading %s: %w", topic, err)
				}
				rest := left.Add(-1)
				if rest < 0 {
					return nil
				}
				if err := take(ctx, m); err != nil {
					return err
				}
				if rest == 0 {
					cancel()
				}
			}
		})
	}
	return group.Wait()
}
