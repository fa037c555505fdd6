package eventlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/dial"
	"footfall/models"
)

// DeadLetter is a message that cannot be counted.
type DeadLetter struct {
	Message kafka.Message
	Invalid *models.Invalid
}

// DeadLetterWriter writes dead letters, each at least once. Write returns when they are stored.
type DeadLetterWriter interface {
	Write(ctx context.Context, letters []*DeadLetter) error
	Close() error
}

// DiscardDeadLetters writes nothing: it is for replays, whose dead letters were written the first time.
type DiscardDeadLetters struct{}

// Write implements DeadLetterWriter.
func (DiscardDeadLetters) Write(context.Context, []*DeadLetter) error { return nil }

// Close implements DeadLetterWriter.
func (DiscardDeadLetters) Close() error { return nil }

// MaxDeadBytes keeps a dead letter, headers included, below the largest message that brokers accept (1 MiB by default).
const MaxDeadBytes = 512 << 10

// DeadLetterTopic writes dead letters to a topic: the original bytes, with reason and position in headers. Safe for concurrent use.
type DeadLetterTopic struct{ writer *kafka.Writer }

// NewDeadLetterTopic makes a writer to an existing topic. It connects at the first Write.
func NewDeadLetterTopic(via dial.Kafka, topic string) *DeadLetterTopic {
	return &DeadLetterTopic{&kafka.Writer{
		Addr:         via.Addr(),
		Transport:    via.Transport(),
		Topic:        topic,
		Balancer:     &kafka.RoundRobin{},
		RequiredAcks: kafka.RequireAll,
		BatchTimeout: 5 * time.Millisecond,
	}}
}

// Write implements DeadLetterWriter: it returns when all in-sync replicas have the letters.
func (d *DeadLetterTopic) Write(ctx context.Context, letters []*DeadLetter) error {
	if len(letters) == 0 {
		return nil
	}
	if err := d.write(ctx, letters, MaxDeadBytes); err != nil {
		return fmt.Errorf("writing dead letters to topic %s: %w", d.writer.Topic, err)
	}
	return nil
}

// write writes letters of so many bytes at the most. What Kafka refuses as too large for the topic it halves: first the batch, then the letter.
func (d *DeadLetterTopic) write(ctx context.Context, letters []*DeadLetter, most int) error {
	messages := make([]kafka.Message, len(letters))
	for i, l := range letters {
		messages[i] = l.Encode(most)
	}
	err := d.writer.WriteMessages(ctx, messages...)
	switch half := len(letters) / 2; {
	case !TooLarge(err):
		return err
	case half > 0:
		if err := d.write(ctx, letters[:half], most); err != nil {
			return err
		}
		return d.write(ctx, letters[half:], most)
	case most > 0:
		return d.write(ctx, letters, min(most, len(messages[0].Key)+len(messages[0].Value))/2)
	}
	return fmt.Errorf("not even the headers fit: raise its max.message.bytes: %w", err)
}

// TooLarge tells whether Kafka refused a request for its size: for the topic, or for a segment of its log.
func TooLarge(err error) bool {
	var each kafka.WriteErrors
	return errors.Is(err, kafka.MessageSizeTooLarge) || errors.Is(err, kafka.RecordListTooLarge) ||
		errors.As(err, &each) && slices.ContainsFunc(each, TooLarge)
}

// Close implements DeadLetterWriter.
func (d *DeadLetterTopic) Close() error { return d.writer.Close() }

// Encode makes the message to write. Key and value are truncated if they have more bytes than most.
func (l *DeadLetter) Encode(most int) kafka.Message {
	m := kafka.Message{Key: l.Message.Key, Value: l.Message.Value}
	header := func(key, value string) {
		m.Headers = append(m.Headers, kafka.Header{Key: key, Value: []byte(value)})
	}
	header("reason", l.Invalid.Reason)
	if l.Invalid.Detail != "" {
		header("detail", l.Invalid.Detail)
	}
	header("topic", l.Message.Topic)
	header("partition", strconv.Itoa(l.Message.Partition))
	header("offset", strconv.FormatInt(l.Message.Offset, 10))
	if size := len(m.Key) + len(m.Value); size > most {
		m.Key = m.Key[:min(len(m.Key), most/2)]
		m.Value = m.Value[:min(len(m.Value), most/2)]
		header("truncated", strconv.Itoa(size))
	}
	return m
}
