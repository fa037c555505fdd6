package rollup

import (
	"context"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/dial"
	"footfall/models"
)

// kafkaLog reads parts of Kafka partitions again.
type kafkaLog struct {
	kafka   dial.Kafka
	sources sources
}

// rereadPatience is how long one message may take to come.
const rereadPatience = 10 * time.Second

// clockSkew is how much the clocks that time messages may differ.
const clockSkew = time.Minute

func (l *kafkaLog) read(ctx context.Context, p models.Partition, s span, r reach, each func(item)) (reading, error) {
	src, known := l.sources[p.Topic]
	if !known || src.gone {
		return reading{}, &refusal{fmt.Sprintf("topic %s is not there, or not one of this configuration's (kafka.topics)", p.Topic)}
	}
	bounds, err := logBounds(ctx, l.kafka, []models.Partition{p})
	if err != nil {
		return reading{}, err
	}
	log := bounds[p]
	if end, sealed := src.end(p.Number); sealed {
		log.to = min(log.to, end)
	}
	got := reading{span{min(max(s.from, log.from), s.to), min(s.to, log.to)}, true}
	if got.empty() {
		return got, nil
	}
	from := max(log.from, got.from-r.offsets)
	cut := from > 0 && from > got.from-r.offsets
	reader := newReader(l.kafka, p)
	defer func() { _ = reader.Close() }()
	if err := reader.SetOffset(from); err != nil {
		return got, err
	}
	var oldest time.Time
	for next := from; next < got.to; {
		m, err := fetchWithin(ctx, reader, rereadPatience)
		if err != nil {
			return got, fmt.Errorf("reading partition %d of %s again: %w", p.Number, p.Topic, err)
		}
		if m.Offset < next {
			continue // it was read already
		}
		if next == from {
			oldest = m.Time
		}
		if next = m.Offset + 1; m.Offset >= got.to {
			break
		}
		it := src.inspect.item(p, m)
		if it.warm = m.Offset < got.from; !it.warm && cut {
			// What was deleted is older than what was not. If that is beyond reach, nothing is missing.
			got.whole, cut = m.Time.Sub(oldest) > r.age+clockSkew, false
		}
		each(it)
	}
	// The reader jumps silently over what is deleted while it reads.
	if bounds, err = logBounds(ctx, l.kafka, []models.Partition{p}); err != nil {
		return got, err
	}
	if first := bounds[p].from; first > from {
		return got, fmt.Errorf("reading partition %d of %s again: Kafka deleted offsets below %d meanwhile", p.Number, p.Topic, first)
	}
	return got, nil
}

func newReader(via dial.Kafka, p models.Partition) *kafka.Reader {
	return kafka.NewReader(kafka.ReaderConfig{
		Brokers: via.Brokers, Dialer: via.Dialer(), Topic: p.Topic, Partition: p.Number, MinBytes: 1, MaxBytes: 4 << 20,
		MaxWait: 500 * time.Millisecond, QueueCapacity: 200, OffsetOutOfRangeError: true,
	})
}

func fetchWithin(ctx context.Context, reader *kafka.Reader, patience time.Duration) (kafka.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return reader.FetchMessage(ctx)
}
