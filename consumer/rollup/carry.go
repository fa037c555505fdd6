package rollup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/topics"
	"footfall/models"
)

// Some messages of a sealed generation are not counted there: what lies beyond the seal, since somebody took it off; what lies in partitions
// that somebody added; and what was placed by their number. Growing writes them to the newest generation, under the same key and id.

// carryBatch is how many offsets are carried over at a time.
const carryBatch = 2000

// carrying is what is recorded before a batch is written: should the process die, the next one finds in the log what it had written.
type carrying struct {
	To    int64         `json:"to"`
	Topic string        `json:"topic"` // written to
	Ends  map[int]int64 `json:"ends"`  // of that one, before
}

// carryAll carries over what the sealed generations of the base hold and nobody counts there.
func (g *grower) carryAll(ctx context.Context, src sources) error {
	to := src.newest(g.base)
	writer := &kafka.Writer{
		Addr: g.kafka.Addr(), Transport: g.kafka.Transport(), Topic: to.topic, Balancer: kafka.Murmur2Balancer{Consistent: true},
		RequiredAcks: kafka.RequireAll, BatchTimeout: 5 * time.Millisecond,
	}
	defer func() { _ = writer.Close() }()
	for _, topic := range g.sealed(src) {
		ends, err := topics.Seal(ctx, g.kafka, topic) // again: somebody may have taken it off
		if err != nil {
			return err
		}
		total := 0
		for p := range len(ends) {
			carried, err := g.carry(ctx, src[topic], p, ends[p], to, writer)
			if total += carried; errors.Is(err, kafka.MessageSizeTooLarge) {
				err = errSealedToo
			}
			if err != nil {
				return fmt.Errorf("carrying over partition %d of %s: %w", p, topic, err)
			}
		}
		if total > 0 {
			g.report("carried over %d messages of %s that are not counted there, to %s", total, topic, to.topic)
		}
	}
	return nil
}

// carry carries over what one partition holds up to end.
func (g *grower) carry(ctx context.Context, s *source, partition int, end int64, to *source, writer *kafka.Writer) (total int, err error) {
	from, err := g.carryFrom(ctx, s, partition)
	if err != nil {
		return 0, err
	}
	for from < end {
		done := factCarried(s.topic, partition, from)
		recorded, err := g.store.Setting(ctx, done, "")
		if err != nil {
			return total, err
		}
		if recorded == "" {
			until := min(from+carryBatch, end)
			if partition < s.partitions() && from < s.seal.Ends[partition] {
				until = min(until, s.seal.Ends[partition]) // whoever looks for what lies beyond begins there
			}
			b, again, err := g.announce(ctx, s, partition, carrying{until, to.topic, nil}, from, to)
			if err != nil {
				return total, err
			}
			messages, err := g.uncounted(ctx, s, partition, span{from, b.To})
			if err == nil && again {
				messages, err = g.without(ctx, messages, b)
			}
			if err == nil && len(messages) > 0 {
				err = writer.WriteMessages(ctx, messages...)
			}
			if err != nil {
				return total, err
			}
			total += len(messages)
			if recorded, err = g.store.Setting(ctx, done, strconv.FormatInt(b.To, 10)); err != nil {
				return total, err
			}
		}
		if from, err = strconv.ParseInt(recorded, 10, 64); err != nil {
			return total, err
		}
	}
	return total, nil
}

// carryFrom is where to begin in a partition: at its seal, at its beginning if it was added, or where consumers were when there came to be
// more partitions, and a window before that.
func (g *grower) carryFrom(ctx context.Context, s *source, partition int) (int64, error) {
	switch {
	case partition >= s.partitions():
		return 0, nil
	case len(s.seal.Ends) == s.partitions():
		return s.seal.Ends[partition], nil
	}
	at, err := g.store.Committed(ctx, models.Partition{Topic: s.topic, Number: partition})
	if err != nil {
		return 0, err
	}
	at = min(max(0, at-g.reach().offsets), s.seal.Ends[partition])
	recorded, err := g.store.Setting(ctx, fact(s.topic, fmt.Sprintf("carried %d from", partition)), strconv.FormatInt(at, 10))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(recorded, 10, 64)
}

// announce records a batch before it is written. again: it was recorded before, and somebody may have written a part of it.
func (g *grower) announce(ctx context.Context, s *source, partition int, b carrying, from int64, to *source) (_ carrying, again bool, err error) {
	name := fact(s.topic, fmt.Sprintf("carrying %d/%d", partition, from))
	recorded, err := g.store.Setting(ctx, name, "")
	if err != nil {
		return b, false, err
	}
	if again = recorded != ""; !again {
		if b.Ends, err = topics.Ends(ctx, g.kafka, to.topic, to.partitions()); err != nil {
			return b, false, err
		}
		text, err := json.Marshal(b)
		if err != nil {
			return b, false, err
		}
		if recorded, err = g.store.Setting(ctx, name, string(text)); err != nil {
			return b, false, err
		}
	}
	return b, again, json.Unmarshal([]byte(recorded), &b)
}

// uncounted reads the messages of a span that consumers do not count there.
func (g *grower) uncounted(ctx context.Context, s *source, partition int, want span) (out []kafka.Message, err error) {
	err = g.readMessages(ctx, models.Partition{Topic: s.topic, Number: partition}, want, func(m kafka.Message) {
		end := int64(0) // of what is counted there
		if partition < s.partitions() {
			end = s.seal.Ends[partition]
		}
		_, err := s.inspect.event(m)
		if not := err != nil && noEvent(m); !not && (m.Offset >= end || errors.Is(err, errCarried)) {
			out = append(out, kafka.Message{Key: m.Key, Value: m.Value, Headers: m.Headers})
		}
	})
	return out, err
}

// without leaves out what was written already.
func (g *grower) without(ctx context.Context, messages []kafka.Message, b carrying) ([]kafka.Message, error) {
	if err := sleep(ctx, g.store.WriteTimeout()+settleMargin); err != nil { // what was under way has landed by then
		return nil, err
	}
	ends, err := topics.Ends(ctx, g.kafka, b.Topic, len(b.Ends))
	if err != nil {
		return nil, err
	}
	there := map[string]int{}
	for p, from := range b.Ends {
		err := g.readMessages(ctx, models.Partition{Topic: b.Topic, Number: p}, span{from, ends[p]}, func(m kafka.Message) {
			there[string(m.Key)+"\x00"+string(m.Value)]++
		})
		if err != nil {
			return nil, err
		}
	}
	var out []kafka.Message
	for _, m := range messages {
		if id := string(m.Key) + "\x00" + string(m.Value); there[id] > 0 {
			there[id]--
			continue
		}
		out = append(out, m)
	}
	return out, nil
}

// readMessages hands on the messages of a span, as far as the log holds them.
func (g *grower) readMessages(ctx context.Context, p models.Partition, want span, each func(kafka.Message)) error {
	bounds, err := logBounds(ctx, g.kafka, []models.Partition{p})
	if err != nil {
		return err
	}
	want = span{max(want.from, bounds[p].from), min(want.to, bounds[p].to)}
	if want.empty() {
		return nil
	}
	reader := newReader(g.kafka, p)
	defer func() { _ = reader.Close() }()
	if err := reader.SetOffset(want.from); err != nil {
		return err
	}
	for next := want.from; next < want.to; {
		m, err := fetchWithin(ctx, reader, rereadPatience)
		if err != nil {
			return fmt.Errorf("reading partition %d of %s: %w", p.Number, p.Topic, err)
		}
		if next = m.Offset + 1; m.Offset < want.to {
			each(m)
		}
	}
	return nil
}

// factCarried names the record that a batch from an offset on was carried over; its value is where that ended.
func factCarried(topic string, partition int, from int64) string {
	return fact(topic, fmt.Sprintf("carried %d/%d", partition, from))
}

// beyondSeal is how many messages lie beyond the seal of a partition, which the log has up to an offset, and were not carried over.
func (o *ownership) beyondSeal(ctx context.Context, p models.Partition, to int64) int64 {
	from := o.partitions[p].end
	for from < to {
		recorded, err := o.store.Setting(ctx, factCarried(p.Topic, p.Number, from), "")
		next, notNumber := strconv.ParseInt(recorded, 10, 64)
		if err != nil || notNumber != nil {
			break
		}
		from = next
	}
	if from < to {
		o.log.Error("somebody wrote to a sealed topic: these events are not counted; run consumer grow again, which carries them over",
			"topic", p.Topic, "partition", p.Number, "from", from, "to", to)
	}
	return max(0, to-from)
}
