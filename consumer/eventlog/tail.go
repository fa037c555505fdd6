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
	answer, err := via.Client(10*time.Second).Fetch(ctx, &kafka.FetchRequest{
		Topic: p.Topic, Partition: p.Number, Offset: offset, MinBytes: 1, MaxBytes: 1 << 20, MaxWait: 500 * time.Millisecond,
	})
	if err == nil {
		err = answer.Error
	}
	if errors.Is(err, kafka.OffsetOutOfRange) {
		return "", nil // it was deleted just now
	}
	if err != nil {
		return "", fmt.Errorf("reading offset %d of partition %d of %s: %w", offset, p.Number, p.Topic, err)
	}
	for {
		record, err := answer.Records.ReadRecord()
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("reading offset %d of partition %d of %s: %w", offset, p.Number, p.Topic, err)
		}
		if record.Offset < offset {
			continue // an earlier message of the same record batch
		}
		if record.Offset > offset {
			return "", nil
		}
		return sumOfRecord(record)
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
