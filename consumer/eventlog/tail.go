package eventlog

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/dial"
	"footfall/models"
)

// SumOf is the fingerprint of a message. Stores and marks hold such fingerprints: how it is computed must never change.
func SumOf(key, value []byte) string {
	h := sha256.New()
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(key)))
	for _, part := range [][]byte{length[:], key, value} {
		_, _ = h.Write(part) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// SumAt reads one message from Kafka and returns its fingerprint; empty if there is no message at the offset.
func SumAt(ctx context.Context, via dial.Kafka, p models.Partition, offset int64) (string, error) {
	record, err := firstFrom(ctx, via, p, offset)
	if errors.Is(err, kafka.OffsetOutOfRange) {
		return "", nil // it was deleted just now
	}
	if err != nil || record == nil || record.Offset > offset {
		return "", err
	}
	return sumOfRecord(record)
}

// TimeFrom returns offset and timestamp of the first message at an offset or soon after it; -1 if there is none. If the offset was deleted, that
// is an error: there may be messages after it.
func TimeFrom(ctx context.Context, via dial.Kafka, p models.Partition, offset int64) (int64, time.Time, error) {
	record, err := firstFrom(ctx, via, p, offset)
	if err != nil || record == nil {
		return -1, time.Time{}, err
	}
	return record.Offset, record.Time, nil
}

// firstFrom reads the first message at an offset or soon after it; nil if there is none. Kafka sends more than MaxBytes if the first batch is
// larger.
func firstFrom(ctx context.Context, via dial.Kafka, p models.Partition, offset int64) (*kafka.Record, error) {
	answer, err := via.Client(10*time.Second).Fetch(ctx, &kafka.FetchRequest{
		Topic: p.Topic, Partition: p.Number, Offset: offset, MinBytes: 1, MaxBytes: 16 << 10, MaxWait: 500 * time.Millisecond,
	})
	if err == nil {
		err = answer.Error
	}
	if err != nil {
		return nil, fmt.Errorf("reading offset %d of partition %d of %s: %w", offset, p.Number, p.Topic, err)
	}
	for {
		record, err := answer.Records.ReadRecord()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading offset %d of partition %d of %s: %w", offset, p.Number, p.Topic, err)
		}
		if record.Offset >= offset { // else an earlier message of the same record batch
			return record, nil
		}
	}
}

func sumOfRecord(record *kafka.Record) (string, error) {
	key, err := kafka.ReadAll(record.Key)
	if err != nil {
		return "", err
	}
	value, err := kafka.ReadAll(record.Value)
	return SumOf(key, value), err
}
