package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/dial"
	"footfall/models"
)

// fetcher reads one partition of the log, offset by offset. kafka-go's group reader hands out stale messages after a
// rebalance; a reader per partition and generation does not.
type fetcher struct {
	kafka     dial.Kafka
	partition models.Partition
	inspect   inspector
	from      int64 // where reading begins: before start, to fill the duplicate window
	start     int64 // the first event that is to be counted
	reach     reach // of the duplicate window that is to be filled; zero if it is full
	sealed    bool
	end       int64                              // if it is sealed: nothing from there on is read
	ready     func(context.Context) error        // returns when something may be handed on; nil: at once
	count     func(context.Context) (int, error) // asks how many partitions the topic has; nil: nobody need know
	gates     []gate
	log       *slog.Logger
}

// gate parks a partition: it returns when its fetcher may hand the item on, or with ctx's error. Fetchers call it with each item
// that is to be counted, in the order of the log, after they have read it; not with those that only fill the duplicate window.
// The other partitions go on meanwhile. Fetchers of all partitions call it at the same time.
type gate func(ctx context.Context, it item) error

// run hands on the messages from f.from on until ctx ends, or the end of a sealed partition is reached. It returns an error only if
// events are gone from the log, or lie where they do not belong because the topic has another number of partitions.
func (f *fetcher) run(ctx context.Context, out chan<- item) error {
	if f.sealed && f.start >= f.end {
		return nil
	}
	if f.ready != nil && f.ready(ctx) != nil {
		return nil // ctx has ended
	}
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:               f.kafka.Brokers,
		Dialer:                f.kafka.Dialer(),
		Topic:                 f.partition.Topic,
		Partition:             f.partition.Number,
		MinBytes:              1,
		MaxBytes:              4 << 20,
		MaxWait:               500 * time.Millisecond,
		QueueCapacity:         200, // messages: a topic may have large ones
		ReadBackoffMax:        500 * time.Millisecond,
		OffsetOutOfRangeError: true,
	})
	defer func() { _ = reader.Close() }()
	if err := reader.SetOffset(f.from); err != nil {
		return fmt.Errorf("reading partition %d of %s: %w", f.partition.Number, f.partition.Topic, err)
	}
	next, placed := f.from, int64(0)
	for attempt := 0; !f.sealed || next < f.end; attempt++ {
		m, err := reader.FetchMessage(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, kafka.OffsetOutOfRange) {
			if err := f.outOfRange(ctx, next); err != nil {
				return err
			}
			return f.run(ctx, out)
		}
		if err != nil {
			f.log.Warn("reading the log failed; trying again", "topic", f.partition.Topic,
				"partition", f.partition.Number, "error", err)
			if sleep(ctx, backoff(attempt)) != nil {
				return nil
			}
			continue
		}
		attempt = -1
		if m.Offset < next {
			continue // it was handed on already
		}
		if f.sealed && m.Offset >= f.end {
			break // the last offsets before it hold no messages
		}
		if next == f.from {
			f.warnOfLostIDs(m)
		}
		if m.Offset != next && m.Offset > f.start {
			if err := f.gap(ctx, max(next, f.start), m.Offset); err != nil && ctx.Err() == nil {
				return err
			}
		}
		next = m.Offset + 1
		it := f.inspect.item(f.partition, m)
		it.warm = m.Offset < f.start
		if it.misplaced() && m.Offset >= placed {
			if err := f.counted(ctx); isRefusal(err) {
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

// misplaced tells of a message that lies in another partition than it should.
func (it item) misplaced() bool {
	return it.dead != nil && !it.warm && it.dead.invalid.Reason == models.ReasonWrongPartition
}

// counted refuses a topic that has another number of partitions than it is counted with: a message is then no dead letter because it was
// placed by the other number. It goes on asking until Kafka answers or ctx ends.
func (f *fetcher) counted(ctx context.Context) error {
	if f.count == nil || f.sealed {
		return nil
	}
	for attempt := 0; ; attempt++ {
		n, err := f.count(ctx)
		switch {
		case err == nil && n != len(f.inspect.partitions):
			return otherPartitions(f.partition.Topic, len(f.inspect.partitions), n)
		case err == nil:
			return nil
		}
		f.log.Warn("counting partitions failed; trying again", "topic", f.partition.Topic, "attempt", attempt+1, "error", err)
		if err := sleep(ctx, backoff(attempt)); err != nil {
			return err
		}
	}
}

// pass waits at the gates. False: ctx has ended.
func (f *fetcher) pass(ctx context.Context, it item) bool {
	if it.warm {
		return true
	}
	for _, g := range f.gates {
		if g(ctx, it) != nil {
			return false
		}
	}
	return true
}

// gap decides about offsets that the reader jumped over. A transaction's markers take offsets too and are no loss; what
// lies below the log's first offset was deleted before it was counted.
func (f *fetcher) gap(ctx context.Context, from, to int64) error {
	var bounds map[models.Partition]span
	for attempt, err := 0, errors.New("not asked"); err != nil; attempt++ {
		if bounds, err = logBounds(ctx, f.kafka, []models.Partition{f.partition}); err != nil && sleep(ctx, backoff(attempt)) != nil {
			return ctx.Err()
		}
	}
	if first := bounds[f.partition].from; first > from {
		return truncated(f.partition, span{from, min(first, to)})
	}
	return nil
}

// warnOfLostIDs says if the log begins after the first id that the duplicate window should have.
func (f *fetcher) warnOfLostIDs(first kafka.Message) {
	if f.from > max(0, f.start-f.reach.offsets) && time.Since(first.Time) < f.reach.age {
		f.log.Warn("Kafka has deleted ids that are not too old to come again: such events would be counted twice; raise the topic's"+
			" retention above duplicates.age", "topic", f.partition.Topic, "partition", f.partition.Number, "first_offset", first.Offset)
	}
}

// outOfRange decides about an offset that the log does not have. It was deleted before it was read, or the topic is another one; both
// are errors. Where nothing but ids went that were to fill the window, retention was faster than we are: reading begins again with
// those that are left.
func (f *fetcher) outOfRange(ctx context.Context, offset int64) error {
	var bounds map[models.Partition]span
	for attempt, err := 0, errors.New("not asked"); err != nil; attempt++ {
		if bounds, err = logBounds(ctx, f.kafka, []models.Partition{f.partition}); err != nil && sleep(ctx, backoff(attempt)) != nil {
			return ctx.Err()
		}
	}
	log := bounds[f.partition]
	switch {
	case log.from > max(offset, f.start):
		return truncated(f.partition, span{max(offset, f.start), log.from})
	case log.from <= offset || log.to < f.start:
		return recreated(f.partition, offset)
	}
	f.from = log.from
	return nil
}

// refusal is an error that trying again cannot mend: an operator has to decide.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

func recreated(p models.Partition, offset int64) error {
	return &refusal{fmt.Sprintf("partition %d of topic %s does not reach offset %d, up to which it is counted: was the topic"+
		" created anew? "+countAnew, p.Number, p.Topic, offset)}
}

func truncated(p models.Partition, lost span) error {
	return &refusal{fmt.Sprintf("%v were deleted from Kafka before they were counted: raise the topic's retention. %s", lost.of(p), howToAccept)}
}

// logBounds asks for the first offset and the one after the last of each partition.
func logBounds(ctx context.Context, via dial.Kafka, partitions []models.Partition) (map[models.Partition]span, error) {
	request := kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{}}
	for _, p := range partitions {
		request.Topics[p.Topic] = append(request.Topics[p.Topic], kafka.FirstOffsetOf(p.Number), kafka.LastOffsetOf(p.Number))
	}
	response, err := via.Client(10*time.Second).ListOffsets(ctx, &request)
	if err != nil {
		return nil, fmt.Errorf("asking for the log's offsets: %w", err)
	}
	bounds := map[models.Partition]span{}
	for topic, list := range response.Topics {
		for _, p := range list {
			if p.Error != nil {
				return nil, fmt.Errorf("asking for the offsets of partition %d of %s: %w", p.Partition, topic, p.Error)
			}
			bounds[models.Partition{Topic: topic, Number: p.Partition}] = span{p.FirstOffset, p.LastOffset}
		}
	}
	return bounds, nil
}
