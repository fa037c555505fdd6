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
	// Read calls each with the items of s in order, as far as the log still has them. Before those it hands on items that fill the duplicate
	// window of reach r (Warm). It returns a *Refusal if the topic is unknown or deleted.
	Read(ctx context.Context, p models.Partition, s Span, r Reach, each func(Item)) (Reading, error)
}

// Reading is what could be read of a span.
type Reading struct {
	Span
	Whole bool // all ids within reach before it were read too, so duplicates are certain
}

// KafkaReader reads parts of Kafka partitions again. Safe for concurrent use.
type KafkaReader struct {
	Kafka   dial.Kafka
	Sources Sources
}

// RereadPatience is how long Read waits for one message.
const RereadPatience = 10 * time.Second

// clockSkew is how much the clocks that timestamp messages may differ.
const clockSkew = time.Minute

// Read implements Reader.
func (l *KafkaReader) Read(ctx context.Context, p models.Partition, s Span, r Reach, each func(Item)) (Reading, error) {
	src, known := l.Sources[p.Topic]
	if !known || src.Gone {
		return Reading{}, Refuse("topic %s does not exist, or is not one of kafka.topics", p.Topic)
	}
	bounds, err := Bounds(ctx, l.Kafka, []models.Partition{p})
	if err != nil {
		return Reading{}, err
	}
	log := bounds[p]
	if end, sealed := src.End(p.Number); sealed {
		log.To = min(log.To, end)
	}
	if err := src.Inspect.Ahead.Read(ctx); err != nil {
		return Reading{}, err
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
			// Deleted messages are older than the oldest that is left. If that one is out of reach, nothing is missing.
			got.Whole, cut = m.Time.Sub(oldest) > r.Age+clockSkew, false
		}
		each(it)
	}
	// kafka-go's reader silently skips what Kafka deletes while it reads.
	if bounds, err = Bounds(ctx, l.Kafka, []models.Partition{p}); err != nil {
		return got, err
	}
	if first := bounds[p].From; first > from {
		return got, fmt.Errorf("reading partition %d of %s again: Kafka deleted offsets below %d meanwhile", p.Number, p.Topic, first)
	}
	return got, nil
}

// NewReader makes a reader of one partition. It fails with kafka.OffsetOutOfRange where the log does not have the offset.
func NewReader(via dial.Kafka, p models.Partition) *kafka.Reader {
	return kafka.NewReader(kafka.ReaderConfig{
		Brokers: via.Brokers, Dialer: via.Dialer(), Topic: p.Topic, Partition: p.Number, MinBytes: 1, MaxBytes: 4 << 20,
		MaxWait: 500 * time.Millisecond, QueueCapacity: 200, OffsetOutOfRangeError: true,
	})
}

// FetchWithin reads the next message. It returns an error if none comes within patience.
func FetchWithin(ctx context.Context, reader *kafka.Reader, patience time.Duration) (kafka.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return reader.FetchMessage(ctx)
}
