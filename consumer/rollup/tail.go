package rollup

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

	"footfall/consumer/store"
	"footfall/internal/kafka/dial"
	"footfall/models"
)

// sumOf is the fingerprint of a message. It is kept in stores and beside groups' offsets: it must not change.
func sumOf(key, value []byte) string {
	h := sha256.New()
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(key)))
	for _, part := range [][]byte{length[:], key, value} {
		_, _ = h.Write(part) // it never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// tail is what the log has to have before the offset after this item.
func (it *item) tail() store.Tail {
	switch {
	case it.dead != nil:
		return store.Tail{Offset: it.offset + 1, Sum: sumOf(it.dead.message.Key, it.dead.message.Value)}
	case it.event != nil && it.value != nil:
		return store.Tail{Offset: it.offset + 1, Sum: sumOf([]byte(it.event.KafkaKey()), it.value)}
	}
	return store.Tail{}
}

// sameLog refuses a log that has other messages where it was counted: Kafka has lost what it acknowledged, as after an unclean
// election of a leader, or the topic was created anew. What both the store and the group know is looked at, as far as the log still
// has it.
func (o *ownership) sameLog(ctx context.Context, bounds map[models.Partition]span) error {
	for _, err := range o.each(func(p models.Partition, own *owned) (err error) {
		if own.kept, err = o.store.Tail(ctx, p); err != nil {
			return err
		}
		for _, known := range []store.Tail{own.kept, {Offset: own.committed, Sum: own.said.tail}} {
			if known.Sum == "" || known == own.tail {
				continue
			}
			if known.Offset == own.next {
				own.tail = known
			}
			if known.Offset <= bounds[p].from || known.Offset > bounds[p].to {
				continue
			}
			switch found, err := o.sumAt(ctx, p, known.Offset-1); {
			case err != nil:
				return err
			case found != "" && found != known.Sum:
				return another(p, known.Offset-1)
			}
		}
		return nil
	}) {
		return err // one tells as much as all
	}
	return nil
}

// noteTail keeps the last message that was counted, for whoever comes next. It is no reason to stop if that fails.
func (o *ownership) noteTail(ctx context.Context, partition models.Partition, p *owned) {
	if p.tail.Sum == "" || p.tail.Offset <= p.kept.Offset {
		return
	}
	if err := o.store.NoteTail(ctx, partition, p.tail); err != nil {
		o.log.Warn("noting the last event failed", "topic", partition.Topic, "partition", partition.Number, "error", err)
		return
	}
	p.kept = p.tail
}

// sumAt reads one message from Kafka; its fingerprint is empty if there is none at the offset.
func sumAt(ctx context.Context, via dial.Kafka, p models.Partition, offset int64) (string, error) {
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
			continue // of the same batch
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
	return sumOf(key, value), err
}

// countAnew ends the refusals of a log that is not the one that was counted.
const countAnew = "The tables cannot go on with this log: count what it has into new ones with `consumer rebuild`, and use those"

func another(p models.Partition, offset int64) error {
	return &refusal{fmt.Sprintf("offset %d of topic %s, partition %d, is not the event that was counted: Kafka has lost events that it had"+
		" acknowledged (was a leader elected uncleanly?), or the topic was created anew. "+countAnew, offset, p.Topic, p.Number)}
}
