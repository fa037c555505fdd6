package eventlog

import (
	"context"
	"fmt"
	"time"

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

// rereadPatience is how long Read waits for one message.
const rereadPatience = 10 * time.Second

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
	got := Reading{Span{min(max(s.From, log.From), s.To), min(s.To, log.To)}, true}
	if got.Empty() {
		return got, nil
	}
	from := max(log.From, got.From-r.Offsets)
	cut := from > 0 && from > got.From-r.Offsets
	stream := NewStream(l.Kafka, p, from)
	defer stream.Close()
	var oldest time.Time
	for next := from; next < got.To; {
		m, err := stream.ReadWithin(ctx, rereadPatience)
		if err != nil {
			return got, fmt.Errorf("reading partition %d of %s again: %w", p.Number, p.Topic, err)
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
	return got, nil
}
