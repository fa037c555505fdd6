package eventlog

import (
	"context"
	"errors"
	"fmt"
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
type DeadLetterTopic struct{ many, single *kafka.Writer } // letters in a request

// NewDeadLetterTopic makes a writer to an existing topic. It connects at the first Write.
func NewDeadLetterTopic(via dial.Kafka, topic string) *DeadLetterTopic {
	writer := func(atOnce int) *kafka.Writer {
		return &kafka.Writer{
			Addr:         via.Addr(),
			Transport:    via.Transport(),
			Topic:        topic,
			Balancer:     &kafka.RoundRobin{},
			RequiredAcks: kafka.RequireAll,
			BatchSize:    atOnce,
			BatchTimeout: 5 * time.Millisecond,
		}
	}
	return &DeadLetterTopic{writer(100), writer(1)}
}

// Write implements DeadLetterWriter: it returns when all in-sync replicas have the letters. It writes again only what Kafka refused as too
// large for the topic. What is refused by itself, too, it cuts: the first letter in halves until it fits, the others at once to as much. The next
// Write begins anew, since the topic may take more by then.
func (d *DeadLetterTopic) Write(ctx context.Context, letters []*DeadLetter) error {
	left, err := send(ctx, d.many, letters, MaxDeadBytes)
	if err == nil {
		left, err = send(ctx, d.single, left, MaxDeadBytes)
	}
	for most := MaxDeadBytes; err == nil && len(left) > 0; {
		if most, err = d.fit(ctx, left[0], most); err == nil {
			left, err = send(ctx, d.single, left[1:], most)
		}
	}
	if err != nil {
		return fmt.Errorf("writing dead letters to topic %s: %w", d.many.Topic, err)
	}
	return nil
}

// fit writes a letter that is too large, cut in halves until Kafka takes it, and returns how many bytes of it that are.
func (d *DeadLetterTopic) fit(ctx context.Context, l *DeadLetter, most int) (int, error) {
	for most = min(most, len(l.Message.Key)+len(l.Message.Value)); most > 0; {
		most /= 2
		if refused, err := send(ctx, d.single, []*DeadLetter{l}, most); err != nil || len(refused) == 0 {
			return most, err
		}
	}
	return 0, fmt.Errorf("not even the headers fit: raise its max.message.bytes: %w", kafka.MessageSizeTooLarge)
}

// send writes letters of so many bytes at the most, and returns those whose request Kafka refused as too large.
func send(ctx context.Context, w *kafka.Writer, letters []*DeadLetter, most int) (refused []*DeadLetter, err error) {
	messages := make([]kafka.Message, len(letters))
	for i, l := range letters {
		messages[i] = l.Encode(most)
	}
	var each kafka.WriteErrors
	if err = w.WriteMessages(ctx, messages...); !errors.As(err, &each) {
		return nil, err
	}
	for i, e := range each {
		if TooLarge(e) {
			refused = append(refused, letters[i])
		} else if e != nil {
			return nil, err
		}
	}
	return refused, nil
}

// TooLarge tells whether Kafka refused a request for its size: for the topic, or for a segment of its log.
func TooLarge(err error) bool {
	return errors.Is(err, kafka.MessageSizeTooLarge) || errors.Is(err, kafka.RecordListTooLarge)
}

// Close implements DeadLetterWriter.
func (d *DeadLetterTopic) Close() error { return errors.Join(d.many.Close(), d.single.Close()) }

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
