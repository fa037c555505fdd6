package eventlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/internal/budget"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/internal/retry"
	"footfall/models"
)

// Fetcher reads one partition, offset by offset, for one generation of the group. kafka-go's group reader is not used: it hands out stale
// messages after a rebalance.
type Fetcher struct {
	Kafka     dial.Kafka
	Partition models.Partition
	Inspect   Inspector
	From      int64 // the first offset to read: before Start, to fill the duplicate window
	Start     int64 // the first offset to count
	Reach     Reach // of the duplicate window to fill; zero if it is full already
	Sealed    bool
	End       int64                       // of a sealed partition: Run stops here
	ready     func(context.Context) error // returns when reading may begin; nil: at once
	Gates     []Gate
	Room      *budget.Room // from which each item takes its bytes once it is past the gates; whoever has taken it from out gives them back
	Logger    *slog.Logger
}

// Gate blocks a fetcher until it may hand the item on, or returns ctx's error. A fetcher calls it with each item to be counted, in log
// order, but not with items that only fill the duplicate window. Other partitions go on meanwhile: fetchers call gates concurrently.
type Gate func(ctx context.Context, it Item) error

// Run sends the messages from f.From on to out, until ctx ends or it reaches the end of a sealed partition. It retries while Kafka cannot
// be read. It returns a *Refusal if uncounted events are gone from the log, or the topic has another number of partitions.
func (f *Fetcher) Run(ctx context.Context, out chan<- Item) error {
	if f.Sealed && f.Start >= f.End {
		return nil
	}
	if f.ready != nil && f.ready(ctx) != nil {
		return nil // ctx has ended
	}
	stream := NewStream(f.Kafka, f.Partition, f.From)
	stream.some = liveFetch
	defer stream.Close()
	next, placed := f.From, int64(0)
	for attempt := 0; !f.Sealed || next < f.End; attempt++ {
		m, err := stream.Read(ctx)
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
			if attempt > 0 { // the first may be an election
				f.Logger.Warn("reading the log failed; trying again", "topic", f.Partition.Topic,
					"partition", f.Partition.Number, "error", err)
			}
			if retry.Sleep(ctx, retry.Backoff(attempt)) != nil {
				return nil
			}
			continue
		}
		attempt = -1
		if f.Sealed && m.Offset >= f.End {
			break // transaction markers may take the last offsets before End
		}
		if next == f.From {
			f.warnOfLostIDs(m)
		}
		if m.Offset != next && m.Offset > f.Start {
			if err := f.checkSkipped(ctx, max(next, f.Start), m.Offset); err != nil && ctx.Err() == nil {
				return err
			}
		}
		next = m.Offset + 1
		it := f.Inspect.item(f.Partition, m)
		it.Warm = m.Offset < f.Start
		if it.misplaced() && m.Offset >= placed {
			if err := f.checkPartitions(ctx); IsRefusal(err) {
				return err
			} else if err != nil {
				break // ctx has ended
			}
			placed = m.HighWaterMark // Count answered after these were written: no need to ask again for them
		}
		if !f.awaitGates(ctx, it) || f.Room.Take(ctx, it.Bytes) != nil { // in this order: who waits at a gate leaves the room to others
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

// checkPartitions refuses a topic that has another number of partitions than it is counted with: a message that a producer placed by the new
// number must not become a dead letter. It retries until Kafka answers or ctx ends.
func (f *Fetcher) checkPartitions(ctx context.Context) error {
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

// awaitGates waits at the gates. It returns false if ctx has ended.
func (f *Fetcher) awaitGates(ctx context.Context, it Item) bool {
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

// checkSkipped decides about offsets that the reader skipped. Below the log's first offset, Kafka deleted uncounted events: a *Refusal. Elsewhere
// they are transaction markers, and nothing is lost.
func (f *Fetcher) checkSkipped(ctx context.Context, from, to int64) error {
	log, err := f.bounds(ctx)
	if err == nil && log.From > from {
		err = truncated(f.Partition, Span{from, min(log.From, to)})
	}
	return err
}

// bounds asks Kafka for the partition's bounds until it answers or ctx ends.
func (f *Fetcher) bounds(ctx context.Context) (Span, error) {
	for attempt := 0; ; attempt++ {
		bounds, err := Bounds(ctx, f.Kafka, []models.Partition{f.Partition})
		if err == nil {
			return bounds[f.Partition], nil
		}
		if err := retry.Sleep(ctx, retry.Backoff(attempt)); err != nil {
			return Span{}, err
		}
	}
}

// warnOfLostIDs warns if Kafka has deleted ids that the duplicate window should have.
func (f *Fetcher) warnOfLostIDs(first kafka.Message) {
	if f.From > max(0, f.Start-f.Reach.Offsets) && time.Since(first.Time) < f.Reach.Age {
		f.Logger.Warn("Kafka has deleted ids that are younger than duplicates.age: events sent again would be counted twice; raise the"+
			" topic's retention above duplicates.age", "topic", f.Partition.Topic, "partition", f.Partition.Number, "first_offset", first.Offset)
	}
}

// outOfRange decides about an offset that the log does not have. If Kafka deleted uncounted events, or the topic was recreated, it returns
// a *Refusal. If retention deleted only ids for the duplicate window, it moves f.From to the first that is left, else to the offset.
func (f *Fetcher) outOfRange(ctx context.Context, offset int64) error {
	log, err := f.bounds(ctx)
	switch {
	case err != nil:
		return err
	case log.From > max(offset, f.Start):
		return truncated(f.Partition, Span{max(offset, f.Start), log.From})
	case log.To < offset || log.To < f.Start:
		return RecreatedTopic(f.Partition, offset)
	}
	f.From = max(log.From, offset)
	return nil
}

// Bounds asks Kafka for the first and the end offset of each partition.
func Bounds(ctx context.Context, via dial.Kafka, partitions []models.Partition) (map[models.Partition]Span, error) {
	request := kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{}}
	for _, p := range partitions {
		request.Topics[p.Topic] = append(request.Topics[p.Topic], kafka.FirstOffsetOf(p.Number), kafka.LastOffsetOf(p.Number))
	}
	response, err := via.Client(10*time.Second).ListOffsets(ctx, &request)
	if err != nil {
		return nil, fmt.Errorf("asking Kafka for first and last offsets: %w", err)
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
