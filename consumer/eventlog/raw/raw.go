// Package raw reads messages of partitions as they are, and writes some to one partition: for commands that look at topics which are not
// counted, or that have to know what became of each request.
package raw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"footfall/consumer/eventlog"
	"footfall/internal/kafka/dial"
	"footfall/internal/retry"
	"footfall/models"
)

// Read calls each with the messages of a span, as far as the log has them, and returns the part that it had until the end: what Kafka deletes
// meanwhile is skipped. It leaves out transaction markers. An error of each ends it.
func Read(ctx context.Context, via dial.Kafka, p models.Partition, want eventlog.Span, each func(kafka.Message) error) (eventlog.Span, error) {
	got, err := within(ctx, via, p, want)
	if err != nil || got.Empty() {
		return got, err
	}
	for next, attempt := got.From, 0; next < got.To; {
		messages, after, err := fetch(ctx, via, p, next)
		if errors.Is(err, kafka.OffsetOutOfRange) { // deleted just now
			var left eventlog.Span
			if left, err = within(ctx, via, p, want); err == nil && left.From > next {
				next = left.From
				continue
			}
		}
		if err == nil && after == next {
			err = errNothing
		}
		if err != nil && attempt < attempts && ctx.Err() == nil {
			if err := retry.Sleep(ctx, retry.Backoff(attempt)); err != nil {
				return got, err
			}
			attempt++
			continue
		}
		if err != nil {
			return got, fmt.Errorf("reading partition %d of %s at %d: %w", p.Number, p.Topic, next, err)
		}
		attempt = 0
		for _, m := range messages {
			if m.Offset >= next && m.Offset < got.To {
				if err := each(m); err != nil {
					return got, err
				}
			}
		}
		next = after
	}
	left, err := within(ctx, via, p, want)
	got.From = max(got.From, left.From)
	return got, err
}

// attempts is how often a partition that cannot be read is tried: some ten seconds, the time of an election.
const attempts = 7

var errNothing = errors.New("there are messages, but none could be read")

// fetch reads some messages from an offset on, and perhaps some before it. after is the offset to go on with.
func fetch(ctx context.Context, via dial.Kafka, p models.Partition, from int64) (messages []kafka.Message, after int64, err error) {
	answer, err := via.Client(10*time.Second).Fetch(ctx, &kafka.FetchRequest{
		Topic: p.Topic, Partition: p.Number, Offset: from, MinBytes: 1, MaxBytes: 4 << 20, MaxWait: 500 * time.Millisecond,
	})
	if err == nil {
		err = answer.Error
	}
	if err != nil {
		return nil, from, err
	}
	after = from
	if stream, ok := answer.Records.(*protocol.RecordStream); ok {
		if len(stream.Records) > 0 {
			after = from + 1 // the first batch begins after from, or spans it: then compaction may have removed the record at from, and all after it
		}
		for _, batch := range stream.Records {
			if marker, ok := batch.(*protocol.ControlBatch); ok { // one message each
				after = max(after, marker.BaseOffset+1)
			}
		}
	}
	for {
		record, err := answer.Records.ReadRecord()
		if errors.Is(err, io.EOF) {
			return messages, after, nil
		}
		if err != nil {
			return nil, from, err
		}
		m := kafka.Message{Topic: p.Topic, Partition: p.Number, Offset: record.Offset, Time: record.Time, Headers: record.Headers}
		if m.Key, err = kafka.ReadAll(record.Key); err != nil {
			return nil, from, err
		}
		if m.Value, err = kafka.ReadAll(record.Value); err != nil {
			return nil, from, err
		}
		messages, after = append(messages, m), max(after, m.Offset+1)
	}
}

// within is the part of a span that the log has.
func within(ctx context.Context, via dial.Kafka, p models.Partition, want eventlog.Span) (eventlog.Span, error) {
	bounds, err := eventlog.Bounds(ctx, via, []models.Partition{p})
	if err != nil {
		return eventlog.Span{}, err
	}
	return eventlog.Span{From: max(want.From, bounds[p].From), To: min(want.To, bounds[p].To)}, nil
}

// Append writes messages to a partition in one request, and returns the offset of the first once all in-sync replicas have them. It does not
// retry: after an error the messages may be in the log, or get there a little later.
func Append(ctx context.Context, via dial.Kafka, p models.Partition, records []kafka.Record) (int64, error) {
	answer, err := via.Client(appendTimeout).Produce(ctx, &kafka.ProduceRequest{
		Topic: p.Topic, Partition: p.Number, RequiredAcks: kafka.RequireAll, Records: kafka.NewRecordReader(records...),
	})
	if err == nil {
		err = answer.Error
	}
	if err != nil {
		return 0, fmt.Errorf("writing to partition %d of %s: %w", p.Number, p.Topic, err)
	}
	return answer.BaseOffset, nil
}

const appendTimeout = 10 * time.Second
