package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

// Produce writes one message to one partition and returns its origin.
func (b *Broker) Produce(ctx context.Context, topic string, partition int, key, value string) (string, error) {
	answer, err := b.Client.Produce(ctx, &kafka.ProduceRequest{
		Topic: topic, Partition: partition, RequiredAcks: kafka.RequireAll,
		Records: kafka.NewRecordReader(kafka.Record{Key: kafka.NewBytes([]byte(key)), Value: kafka.NewBytes([]byte(value))}),
	})
	if err != nil {
		return "", fmt.Errorf("producing: %w", err)
	}
	if answer.Error != nil {
		return "", fmt.Errorf("producing: %w", answer.Error)
	}
	return Origin(topic, partition, answer.BaseOffset), nil
}

// Origin names a place in the log as DeadLetters does.
func Origin(topic string, partition int, offset int64) string {
	return fmt.Sprintf("%s/%d/%d", topic, partition, offset)
}

// Read calls each for every message of a partition below end, in order. A message that takes longer than ten seconds to come is an error.
func (b *Broker) Read(ctx context.Context, p Partition, end int64, each func(kafka.Message) error) (err error) {
	if end == 0 {
		return nil
	}
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: strings.Split(b.Client.Addr.String(), ","), Topic: p.Topic, Partition: p.Number, MaxWait: 100 * time.Millisecond,
		MaxBytes: 4 << 20, QueueCapacity: 1000,
	})
	defer func() { err = errors.Join(err, reader.Close()) }()
	for next := int64(0); next < end; next++ {
		m, err := fetchWithin(ctx, reader, 10*time.Second)
		if err != nil {
			return fmt.Errorf("reading %s %d at %d: %w", p.Topic, p.Number, next, err)
		}
		if m.Offset != next {
			return fmt.Errorf("reading %s %d: offset %d follows %d", p.Topic, p.Number, m.Offset, next-1)
		}
		if err := each(m); err != nil {
			return err
		}
	}
	return nil
}

func fetchWithin(ctx context.Context, reader *kafka.Reader, patience time.Duration) (kafka.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return reader.FetchMessage(ctx)
}

// DeadLetters are the messages of the dead-letter topic, by origin.
func (b *Broker) DeadLetters(ctx context.Context) (map[string]kafka.Message, error) {
	ends, err := b.Ends(ctx, b.Dead)
	if err != nil {
		return nil, err
	}
	out := map[string]kafka.Message{}
	for p, end := range ends {
		err := b.Read(ctx, p, end, func(m kafka.Message) error {
			out[strings.Join([]string{Header(m, "topic"), Header(m, "partition"), Header(m, "offset")}, "/")] = m
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Header is the value of a message's header, empty if it has none of that name.
func Header(m kafka.Message, key string) string {
	i := slices.IndexFunc(m.Headers, func(h kafka.Header) bool { return h.Key == key })
	if i < 0 {
		return ""
	}
	return string(m.Headers[i].Value)
}

// Murmur2 is the partition that Java clients choose for a key.
func Murmur2(key string, partitions int) int {
	list := make([]int, partitions)
	for i := range list {
		list[i] = i
	}
	return kafka.Murmur2Balancer{Consistent: true}.Balance(kafka.Message{Key: []byte(key)}, list...)
}
