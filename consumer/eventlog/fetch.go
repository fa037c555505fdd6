package eventlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/internal/retry"
	"footfall/models"
)

// Fetcher reads one partition of the log, offset by offset. kafka-go's group reader hands out stale messages after a
// rebalance; a reader per partition and generation does not.
type Fetcher struct {
	Kafka     dial.Kafka
	Partition models.Partition
	Inspect   Inspector
	From      int64 // where reading begins: before start, to fill the duplicate window
	Start     int64 // the first event that is to be counted
	Reach     Reach // of the duplicate window that is to be filled; zero if it is full
	Sealed    bool
	End       int64                       // if it is sealed: nothing from there on is read
	ready     func(context.Context) error // returns when something may be handed on; nil: at once
	Gates     []Gate
	Logger    *slog.Logger
}

// Gate parks a partition: it returns when its fetcher may hand the item on, or with ctx's error. Fetchers call it with each item
// that is to be counted, in the order of the log, after they have read it; not with those that only fill the duplicate window.
// The other partitions go on meanwhile. Fetchers of all partitions call it at the same time.
type Gate func(ctx context.Context, it Item) error

// Run hands on the messages from f.from on until ctx ends, or the end of a sealed partition is reached. It returns an error only if
// events are gone from the log, or lie where they do not belong because the topic has another number of partitions.
func (f *Fetcher) Run(ctx context.Context, out chan<- Item) error {
	if f.Sealed && f.Start >= f.End {
		return nil
	}
	if f.ready != nil && f.ready(ctx) != nil {
		return nil // ctx has ended
	}
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:               f.Kafka.Brokers,
		Dialer:                f.Kafka.Dialer(),
		Topic:                 f.Partition.Topic,
		Partition:             f.Partition.Number,
		MinBytes:              1,
		MaxBytes:              4 << 20,
		MaxWait:               500 * time.Millisecond,
		QueueCapacity:         200, // messages: a topic may have large ones
		ReadBackoffMax:        500 * time.Millisecond,
		OffsetOutOfRangeError: true,
	})
	defer func() { _ = reader.Close() }()
	if err := reader.SetOffset(f.From); err != nil {
		return fmt.Errorf("reading partition %d of %s: %w", f.Partition.Number, f.Partition.Topic, err)
	}
	next, placed := f.From, int64(0)
	for attempt := 0; !f.Sealed || next < f.End; attempt++ {
		m, err := reader.FetchMessage(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, kafka.OffsetOutOfRange) {
			if err := f.outOfRange(ctx, next); err != nil {
				return err
			}
			return f.Run(ctx, out)
		}
		if err != nil {
			f.Logger.Warn("reading the log failed; trying again", "topic", f.Partition.Topic,
				"partition", f.Partition.Number, "error", err)
			if retry.Sleep(ctx, retry.Backoff(attempt)) != nil {
				return nil
			}
			continue
		}
		attempt = -1
		if m.Offset < next {
			continue // it was handed on already
		}
		if f.Sealed && m.Offset >= f.End {
			break // the last offsets before it hold no messages
		}
		if next == f.From {
			f.warnOfLostIDs(m)
		}
		if m.Offset != next && m.Offset > f.Start {
			if err := f.gap(ctx, max(next, f.Start), m.Offset); err != nil && ctx.Err() == nil {
				return err
			}
		}
		next = m.Offset + 1
		it := f.Inspect.item(f.Partition, m)
		it.Warm = m.Offset < f.Start
		if it.misplaced() && m.Offset >= placed {
			if err := f.counted(ctx); IsRefusal(err) {
				return err
			} else if err != nil {
				break // ctx has ended
			}
			placed = m.HighWaterMark // what was written before we asked was not placed by a number that came later
		}
		if !f.pass(ctx, it) {
			return nil
		}
		select {
		case out <- it:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// counted refuses a topic that has another number of partitions than it is counted with: a message is then no dead letter because it was
// placed by the other number. It goes on asking until Kafka answers or ctx ends.
func (f *Fetcher) counted(ctx context.Context) error {
	if f.Sealed {
		return nil
	}
	for attempt := 0; ; attempt++ {
		n, err := topics.Partitions(ctx, f.Kafka, f.Partition.Topic)
		switch {
		case err == nil && n != len(f.Inspect.Partitions):
			return OtherPartitions(f.Partition.Topic, len(f.Inspect.Partitions), n)
		case err == nil:
			return nil
		}
		f.Logger.Warn("counting partitions failed; trying again", "topic", f.Partition.Topic, "attempt", attempt+1, "error", err)
		if err := retry.Sleep(ctx, retry.Backoff(attempt)); err != nil {
			return err
		}
	}
}

// pass waits at the gates. False: ctx has ended.
func (f *Fetcher) pass(ctx context.Context, it Item) bool {
	if it.Warm {
		return true
	}
	for _, g := range f.Gates {
		if g(ctx, it) != nil {
			return false
		}
	}
	return true
}

// gap decides about offsets that the reader jumped over. A transaction's markers take offsets too and are no loss; what
// lies below the log's first offset was deleted before it was counted.
func (f *Fetcher) gap(ctx context.Context, from, to int64) error {
	var bounds map[models.Partition]Span
	for attempt, err := 0, errors.New("not asked"); err != nil; attempt++ {
		if bounds, err = Bounds(ctx, f.Kafka, []models.Partition{f.Partition}); err != nil && retry.Sleep(ctx, retry.Backoff(attempt)) != nil {
			return ctx.Err()
		}
	}
	if first := bounds[f.Partition].From; first > from {
		return truncated(f.Partition, Span{from, min(first, to)})
	}
	return nil
}

// warnOfLostIDs says if the log begins after the first id that the duplicate window should have.
func (f *Fetcher) warnOfLostIDs(first kafka.Message) {
	if f.From > max(0, f.Start-f.Reach.Offsets) && time.Since(first.Time) < f.Reach.Age {
		f.Logger.Warn("Kafka has deleted ids that are not too old to come again: such events would be counted twice; raise the topic's"+
			" retention above duplicates.age", "topic", f.Partition.Topic, "partition", f.Partition.Number, "first_offset", first.Offset)
	}
}

// outOfRange decides about an offset that the log does not have. It was deleted before it was read, or the topic is another one; both
// are errors. Where nothing but ids went that were to fill the window, retention was faster than we are: reading begins again with
// those that are left.
func (f *Fetcher) outOfRange(ctx context.Context, offset int64) error {
	var bounds map[models.Partition]Span
	for attempt, err := 0, errors.New("not asked"); err != nil; attempt++ {
		if bounds, err = Bounds(ctx, f.Kafka, []models.Partition{f.Partition}); err != nil && retry.Sleep(ctx, retry.Backoff(attempt)) != nil {
			return ctx.Err()
		}
	}
	log := bounds[f.Partition]
	switch {
	case log.From > max(offset, f.Start):
		return truncated(f.Partition, Span{max(offset, f.Start), log.From})
	case log.From <= offset || log.To < f.Start:
		return RecreatedTopic(f.Partition, offset)
	}
	f.From = log.From
	return nil
}

// Bounds asks for the first offset and the one after the last of each partition.
func Bounds(ctx context.Context, via dial.Kafka, partitions []models.Partition) (map[models.Partition]Span, error) {
	request := kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{}}
	for _, p := range partitions {
		request.Topics[p.Topic] = append(request.Topics[p.Topic], kafka.FirstOffsetOf(p.Number), kafka.LastOffsetOf(p.Number))
	}
	response, err := via.Client(10*time.Second).ListOffsets(ctx, &request)
	if err != nil {
		return nil, fmt.Errorf("asking for the log's offsets: %w", err)
	}
	bounds := map[models.Partition]Span{}
	for topic, list := range response.Topics {
		for _, p := range list {
			if p.Error != nil {
				return nil, fmt.Errorf("asking for the offsets of partition %d of %s: %w", p.Partition, topic, p.Error)
			}
			bounds[models.Partition{Topic: topic, Number: p.Partition}] = Span{p.FirstOffset, p.LastOffset}
		}
	}
	return bounds, nil
}
