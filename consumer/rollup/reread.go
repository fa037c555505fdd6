package rollup

import (
	"context"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/models"
	"footfall/producer/dial"
)

// kafkaLog reads parts of Kafka partitions again.
type kafkaLog struct {
	kafka      dial.Kafka
	inspectors map[string]inspector // by topic
}

// rereadPatience is how long one message may take to come.
const rereadPatience = 10 * time.Second

func (l *kafkaLog) read(ctx context.Context, p models.Partition, s span, window int64, each func(item)) error {
	inspect, known := l.inspectors[p.Topic]
	if !known {
		return &refusal{fmt.Sprintf("topic %s is not one of this configuration's (kafka.topics)", p.Topic)}
	}
	bounds, err := logBounds(ctx, l.kafka, []models.Partition{p})
	if err != nil {
		return err
	}
	log := bounds[p]
	if s.from < log.from {
		return truncated(p, span{s.from, min(s.to, log.from)})
	}
	end := min(s.to, log.to)
	if s.from >= end {
		return nil
	}
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: l.kafka.Brokers, Dialer: l.kafka.Dialer(), Topic: p.Topic, Partition: p.Number, MinBytes: 1, MaxBytes: 4 << 20,
		MaxWait: 500 * time.Millisecond, QueueCapacity: 200, OffsetOutOfRangeError: true,
	})
	defer func() { _ = reader.Close() }()
	if err := reader.SetOffset(max(log.from, s.from-window)); err != nil {
		return err
	}
	for next := int64(0); next < end; {
		m, err := fetchWithin(ctx, reader, rereadPatience)
		if err != nil {
			return fmt.Errorf("reading partition %d of %s again: %w", p.Number, p.Topic, err)
		}
		if next = m.Offset + 1; m.Offset >= end {
			break
		}
		it := inspect.item(p, m)
		it.warm = m.Offset < s.from
		each(it)
	}
	return nil
}

func fetchWithin(ctx context.Context, reader *kafka.Reader, patience time.Duration) (kafka.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return reader.FetchMessage(ctx)
}
