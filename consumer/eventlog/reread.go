package eventlog

import (
	"context"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/dial"
	"footfall/models"
)

// Reader reads a part of the log again.
type Reader interface {
	// Read hands on the items of s in order, as far as the log holds them, after those before it that tell duplicates (warm).
	// It returns a *refusal if it knows nothing of the topic.
	Read(ctx context.Context, p models.Partition, s Span, r Reach, each func(Item)) (Reading, error)
}

// Reading is what could be read of a span.
type Reading struct {
	Span
	Whole bool // the ids before it are there as well, as far as they matter: duplicates can be told
}

// KafkaReader reads parts of Kafka partitions again.
type KafkaReader struct {
	Kafka   dial.Kafka
	Sources Sources
}

// RereadPatience is how long one message may take to come.
const RereadPatience = 10 * time.Second

// clockSkew is how much the clocks that time messages may differ.
const clockSkew = time.Minute

func (l *KafkaReader) Read(ctx context.Context, p models.Partition, s Span, r Reach, each func(Item)) (Reading, error) {
	src, known := l.Sources[p.Topic]
	if !known || src.Gone {
		return Reading{}, Refuse("topic %s is not there, or not one of this configuration's (kafka.topics)", p.Topic)
	}
	bounds, err := Bounds(ctx, l.Kafka, []models.Partition{p})
	if err != nil {
		return Reading{}, err
	}
	log := bounds[p]
	if end, sealed := src.End(p.Number); sealed {
		log.To = min(log.To, end)
	}
	got := Reading{Span{min(max(s.From, log.From), s.To), min(s.To, log.To)}, true}
	if got.Empty() {
		return got, nil
	}
	from := max(log.From, got.From-r.Offsets)
	cut := from > 0 && from > got.From-r.Offsets
	reader := NewReader(l.Kafka, p)
	defer func() { _ = reader.Close() }()
	if err := reader.SetOffset(from); err != nil {
		return got, err
	}
	var oldest time.Time
	for next := from; next < got.To; {
		m, err := FetchWithin(ctx, reader, RereadPatience)
		if err != nil {
			return got, fmt.Errorf("reading partition %d of %s again: %w", p.Number, p.Topic, err)
		}
		if m.Offset < next {
			continue // it was read already
		}
		if next == from {
			oldest = m.Time
		}
		if next = m.Offset + 1; m.Offset >= got.To {
			break
		}
		it := src.Inspect.item(p, m)
		if it.Warm = m.Offset < got.From; !it.Warm && cut {
			// What was deleted is older than what was not. If that is beyond reach, nothing is missing.
			got.Whole, cut = m.Time.Sub(oldest) > r.Age+clockSkew, false
		}
		each(it)
	}
	// The reader jumps silently over what is deleted while it reads.
	if bounds, err = Bounds(ctx, l.Kafka, []models.Partition{p}); err != nil {
		return got, err
	}
	if first := bounds[p].From; first > from {
		return got, fmt.Errorf("reading partition %d of %s again: Kafka deleted offsets below %d meanwhile", p.Number, p.Topic, first)
	}
	return got, nil
}

// NewReader makes a reader of one partition, which fails where the log has no such offset.
func NewReader(via dial.Kafka, p models.Partition) *kafka.Reader {
	return kafka.NewReader(kafka.ReaderConfig{
		Brokers: via.Brokers, Dialer: via.Dialer(), Topic: p.Topic, Partition: p.Number, MinBytes: 1, MaxBytes: 4 << 20,
		MaxWait: 500 * time.Millisecond, QueueCapacity: 200, OffsetOutOfRangeError: true,
	})
}

// FetchWithin reads the next message, if it comes within patience.
func FetchWithin(ctx context.Context, reader *kafka.Reader, patience time.Duration) (kafka.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return reader.FetchMessage(ctx)
}
