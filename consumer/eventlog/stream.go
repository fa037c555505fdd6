package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/dial"
	"footfall/models"
)

// Stream reads the messages of a partition, one by one: kafka-go's Reader queues hundreds of them, however large, and skips without a word what Kafka
// has deleted. It has the last message in memory, and if producers compress, the whole record batch that this one is from: as many bytes as they
// were before, or four times the compressed ones, and up to twice that. Close it. Not safe for concurrent use.
type Stream struct {
	Next int64 // the offset to read next

	via  dial.Kafka
	p    models.Partition
	some fetchSize

	conn  *kafka.Conn
	batch *kafka.Batch
	until time.Time // when the connection gives up
}

// fetchSize is what a fetch waits for: so many bytes, for so long at the most.
type fetchSize struct {
	bytes int
	wait  time.Duration
}

// A fetch of live traffic waits: it comes in a few events at a time, and without the wait each produce request would cost a fetch, in Kafka and here.
var (
	liveFetch = fetchSize{64 << 10, 100 * time.Millisecond}
	someFetch = fetchSize{1, 500 * time.Millisecond}
)

// streamPatience is how long Kafka may take to send more of an answer.
const streamPatience = 5 * time.Second

// NewStream reads a partition from an offset on. It does not connect.
func NewStream(via dial.Kafka, p models.Partition, from int64) *Stream {
	return &Stream{Next: from, via: via, p: p, some: someFetch}
}

// Read returns the next message, and waits for it until ctx ends. It returns kafka.OffsetOutOfRange if the log does not have the offset. After
// an error it may be called again: it connects anew.
func (s *Stream) Read(ctx context.Context) (kafka.Message, error) {
	for {
		if err := s.open(ctx); err != nil {
			s.Close()
			return kafka.Message{}, err
		}
		if time.Until(s.until) < streamPatience/2 {
			s.extend()
		}
		m, err := s.batch.ReadMessage()
		switch {
		case err == nil && m.Offset < s.Next: // a batch of Kafka's may begin earlier
		case err == nil:
			s.Next = m.Offset + 1
			return m, nil
		case errors.Is(err, io.EOF) || errors.Is(err, kafka.RequestTimedOut): // the end of what was fetched
			s.Next = max(s.Next, s.batch.Offset())
			err = s.batch.Close()
			if s.batch = nil; err != nil && !errors.Is(err, kafka.RequestTimedOut) {
				s.Close()
			}
			if ctx.Err() != nil {
				return kafka.Message{}, ctx.Err()
			}
		default:
			s.Close()
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return kafka.Message{}, err
		}
	}
}

// ReadWithin is Read, but returns an error if no message comes within patience.
func (s *Stream) ReadWithin(ctx context.Context, patience time.Duration) (kafka.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.Read(ctx)
}

// open sees to it that there is a batch to read from.
func (s *Stream) open(ctx context.Context) (err error) {
	if s.batch != nil {
		return nil
	}
	if s.conn == nil {
		if s.conn, err = s.dial(ctx); err != nil {
			return err
		}
	}
	if _, err := s.conn.Seek(s.Next, kafka.SeekAbsolute|kafka.SeekDontCheck); err != nil {
		return err
	}
	s.extend()
	conn := s.conn // s.conn may be closed, and nil, when ctx ends
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	s.batch = s.conn.ReadBatchWith(kafka.ReadBatchConfig{MinBytes: s.some.bytes, MaxBytes: 4 << 20, MaxWait: s.some.wait})
	return nil
}

// dial connects to the leader of the partition, by the first broker that knows it.
func (s *Stream) dial(ctx context.Context) (conn *kafka.Conn, err error) {
	for _, broker := range s.via.Brokers {
		if conn, err = s.via.Dialer().DialLeader(ctx, "tcp", broker, s.p.Topic, s.p.Number); err == nil {
			return conn, nil
		}
	}
	return nil, fmt.Errorf("connecting to the leader: %w", err)
}

func (s *Stream) extend() {
	s.until = time.Now().Add(streamPatience)
	_ = s.conn.SetReadDeadline(s.until) // a connection that is closed says so when it is read
}

// Close ends the connection. The stream may be read again.
func (s *Stream) Close() {
	if s.batch != nil {
		_ = s.batch.Close() // its error was returned by ReadMessage
	}
	if s.conn != nil {
		_ = s.conn.Close()
	}
	s.batch, s.conn = nil, nil
}
