package rollup

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/dial"
	"footfall/models"
)

// deadLetter is a message that cannot be counted.
type deadLetter struct {
	message kafka.Message
	invalid *models.Invalid
}

// deadLetters is where messages that cannot be counted go, each at least once.
type deadLetters interface {
	send(ctx context.Context, letters []*deadLetter) error
}

// burial is dead letters that this process alone writes.
type burial interface {
	deadLetters
	close() error
}

// maxDeadBytes keeps a dead letter below what brokers take (1 MiB by default), headers included.
const maxDeadBytes = 512 << 10

// deadTopic writes dead letters to a topic: the bytes as they came, and headers that tell why and from where.
type deadTopic struct{ writer *kafka.Writer }

func newDeadTopic(via dial.Kafka, topic string) *deadTopic {
	return &deadTopic{&kafka.Writer{
		Addr:         via.Addr(),
		Transport:    via.Transport(),
		Topic:        topic,
		Balancer:     &kafka.RoundRobin{},
		RequiredAcks: kafka.RequireAll,
		BatchTimeout: 5 * time.Millisecond,
	}}
}

func (d *deadTopic) send(ctx context.Context, letters []*deadLetter) error {
	if len(letters) == 0 {
		return nil
	}
	messages := make([]kafka.Message, len(letters))
	for i, l := range letters {
		messages[i] = l.encode()
	}
	if err := d.writer.WriteMessages(ctx, messages...); err != nil {
		return fmt.Errorf("writing dead letters to topic %s: %w", d.writer.Topic, err)
	}
	return nil
}

func (d *deadTopic) close() error { return d.writer.Close() }

func (l *deadLetter) encode() kafka.Message {
	m := kafka.Message{Key: l.message.Key, Value: l.message.Value}
	header := func(key, value string) {
		m.Headers = append(m.Headers, kafka.Header{Key: key, Value: []byte(value)})
	}
	header("reason", l.invalid.Reason)
	if l.invalid.Detail != "" {
		header("detail", l.invalid.Detail)
	}
	header("topic", l.message.Topic)
	header("partition", strconv.Itoa(l.message.Partition))
	header("offset", strconv.FormatInt(l.message.Offset, 10))
	if size := len(m.Key) + len(m.Value); size > maxDeadBytes {
		m.Key = m.Key[:min(len(m.Key), maxDeadBytes/2)]
		m.Value = m.Value[:min(len(m.Value), maxDeadBytes/2)]
		header("truncated", strconv.Itoa(size))
	}
	return m
}
