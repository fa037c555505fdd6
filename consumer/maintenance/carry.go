package maintenance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/eventlog"
	"footfall/consumer/eventlog/raw"
	"footfall/consumer/repair"
	"footfall/internal/kafka/topics"
	"footfall/internal/retry"
	"footfall/models"
)

// Consumers do not count some messages of a sealed generation: those beyond the seal, if somebody removed it and wrote; those in partitions
// that somebody added; and those that a producer placed by the new number of partitions. Growing copies them to the newest generation, with
// the same key and id ("carries them over").

// carryBatch is how many offsets are carried over at a time.
const carryBatch = 2000

// carrying is recorded before a batch is written. If the process dies, the next run uses it to find in the log what was written.
type carrying struct {
	To    int64         `json:"to"`    // where the batch ends in the sealed generation
	Topic string        `json:"topic"` // the topic that the batch is written to
	Ends  map[int]int64 `json:"ends"`  // that topic's end offsets before the batch
}

// carryAll carries over all uncounted messages of the base's sealed generations.
func (g *grower) carryAll(ctx context.Context, src eventlog.Sources) error {
	to := src.Newest(g.base)
	writer := &kafka.Writer{
		Addr: g.Kafka.Addr(), Transport: g.Kafka.Transport(), Topic: to.Topic, Balancer: kafka.Murmur2Balancer{Consistent: true},
		RequiredAcks: kafka.RequireAll, BatchTimeout: 5 * time.Millisecond,
	}
	defer func() { _ = writer.Close() }()
	for _, topic := range g.sealed(src) {
		ends, err := topics.Seal(ctx, g.Kafka, topic) // again: somebody may have removed the seal
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
			g.report("carried over %d messages of %s that are not counted there, to %s", total, topic, to.Topic)
		}
	}
	return nil
}

// carry carries over the uncounted messages of one partition up to end.
func (g *grower) carry(ctx context.Context, s *eventlog.Source, partition int, end int64, to *eventlog.Source, writer *kafka.Writer) (total int, err error) {
	from, err := g.carryFrom(ctx, s, partition)
	if err != nil {
		return 0, err
	}
	for from < end {
		done := eventlog.FactCarried(s.Topic, partition, from)
		recorded, err := g.Store.Setting(ctx, done, "")
		if err != nil {
			return total, err
		}
		if recorded == "" {
			until := min(from+carryBatch, end)
			if partition < s.Partitions() && from < s.Seal.Ends[partition] {
				until = min(until, s.Seal.Ends[partition]) // a run that starts at the seal has to find a batch that starts there
			}
			b, again, err := g.announce(ctx, s, partition, carrying{until, to.Topic, nil}, from, to)
			if err != nil {
				return total, err
			}
			messages, err := g.uncounted(ctx, s, partition, eventlog.Span{From: from, To: b.To})
			if err == nil && again {
				messages, err = g.unwritten(ctx, messages, b)
			}
			if err == nil && len(messages) > 0 {
				err = writer.WriteMessages(ctx, messages...)
			}
			if err != nil {
				return total, err
			}
			total += len(messages)
			if recorded, err = g.Store.Setting(ctx, done, strconv.FormatInt(b.To, 10)); err != nil {
				return total, err
			}
		}
		if from, err = strconv.ParseInt(recorded, 10, 64); err != nil {
			return total, err
		}
	}
	return total, nil
}

// carryFrom is the offset where carrying starts in a partition. If somebody added it: 0. If nobody added partitions: its seal. Else where
// consumers stopped when partitions were added, less the duplicate window.
func (g *grower) carryFrom(ctx context.Context, s *eventlog.Source, partition int) (int64, error) {
	switch {
	case partition >= s.Partitions():
		return 0, nil
	case len(s.Seal.Ends) == s.Partitions():
		return s.Seal.Ends[partition], nil
	}
	at, err := g.Store.Committed(ctx, models.Partition{Topic: s.Topic, Number: partition})
	if err != nil {
		return 0, err
	}
	at = min(max(0, at-g.Reach().Offsets), s.Seal.Ends[partition])
	recorded, err := g.Store.Setting(ctx, factCarriedFrom(s.Topic, partition), strconv.FormatInt(at, 10))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(recorded, 10, 64)
}

// announce records a batch before it is written. again: an earlier run recorded it, and may have written a part of it.
func (g *grower) announce(ctx context.Context, s *eventlog.Source, partition int, b carrying, from int64, to *eventlog.Source) (_ carrying, again bool, err error) {
	name := eventlog.Fact(s.Topic, fmt.Sprintf("carrying %d/%d", partition, from))
	recorded, err := g.Store.Setting(ctx, name, "")
	if err != nil {
		return b, false, err
	}
	if again = recorded != ""; !again {
		if b.Ends, err = topics.Ends(ctx, g.Kafka, to.Topic, to.Partitions()); err != nil {
			return b, false, err
		}
		text, err := json.Marshal(b)
		if err != nil {
			return b, false, err
		}
		if recorded, err = g.Store.Setting(ctx, name, string(text)); err != nil {
			return b, false, err
		}
	}
	return b, again, json.Unmarshal([]byte(recorded), &b)
}

// uncounted reads the messages of a span that consumers do not count in this generation.
func (g *grower) uncounted(ctx context.Context, s *eventlog.Source, partition int, want eventlog.Span) (out []kafka.Message, err error) {
	_, err = raw.Read(ctx, g.Kafka, models.Partition{Topic: s.Topic, Number: partition}, want, func(m kafka.Message) error {
		if carries(s, m) {
			out = append(out, kafka.Message{Key: m.Key, Value: m.Value, Headers: m.Headers})
		}
		return nil
	})
	return out, err
}

// unwritten returns the messages that an earlier run has not written yet.
func (g *grower) unwritten(ctx context.Context, messages []kafka.Message, b carrying) ([]kafka.Message, error) {
	if err := retry.Sleep(ctx, g.Store.WriteTimeout()+repair.SettleMargin); err != nil { // by then the earlier run's writes are in the log
		return nil, err
	}
	ends, err := topics.Ends(ctx, g.Kafka, b.Topic, len(b.Ends))
	if err != nil {
		return nil, err
	}
	there := map[string]int{}
	for p, from := range b.Ends {
		_, err := raw.Read(ctx, g.Kafka, models.Partition{Topic: b.Topic, Number: p}, eventlog.Span{From: from, To: ends[p]}, func(m kafka.Message) error {
			there[string(m.Key)+"\x00"+string(m.Value)]++
			return nil
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
