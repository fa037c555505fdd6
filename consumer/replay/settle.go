package replay

import (
	"context"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/deadletters"
	"footfall/consumer/eventlog"
	"footfall/consumer/eventlog/raw"
	"footfall/internal/kafka/topics"
	"footfall/internal/retry"
	"footfall/models"
)

// originHeader is the header of an event that was sent again. It names the letter's origin.
const originHeader = "replayed-from"

// settle finds out what became of the batches that were announced and not settled: it looks for their letters in the topics. Those that are not
// there were not sent, and may be sent now. Of those where Kafka has deleted a part of the topic since, nobody can tell: they are doubtful.
func (r *replayer) settle(ctx context.Context) error {
	all := r.ledger.undecided()
	found, lost, err := r.find(ctx, all)
	if err == nil && len(found)+len(lost) < len(all) { // a request may be under way
		if err = retry.Sleep(ctx, time.Until(r.ledger.claimed.Add(r.times.settle))); err == nil {
			found, lost, err = r.find(ctx, all)
		}
	}
	if err != nil {
		return err
	}
	r.doubtful = lost
	var done []string
	for key, in := range r.ledger.pending {
		if !r.hasDoubtful(in) {
			done = append(done, key)
		}
	}
	if len(all) > 0 {
		r.report("a replay was interrupted: of the %d letters that it was sending, %d are in the topics", len(all), len(found))
	}
	return r.ledger.settle(ctx, found, done)
}

func (r *replayer) hasDoubtful(in intent) bool {
	for _, a := range in.Letters {
		if origin, err := deadletters.Position(a.Origin); err == nil && r.doubtful[origin] {
			return true
		}
	}
	return false
}

// find looks for letters in the topics. found has the position of each by its origin; lost are those that may have been there, in a part of the
// topic that is gone.
func (r *replayer) find(ctx context.Context, all []sought) (found map[models.Position]models.Position, lost map[models.Position]bool, err error) {
	found, lost = map[models.Position]models.Position{}, map[models.Position]bool{}
	byPartition := map[models.Partition][]sought{}
	for _, s := range all {
		byPartition[s.in] = append(byPartition[s.in], s)
	}
	for p, list := range byPartition {
		from, wanted := list[0].from, map[string]models.Position{}
		for _, s := range list {
			from = min(from, s.from)
			wanted[deadletters.Name(s.origin)] = s.origin
		}
		kept, err := r.scan(ctx, p, from, func(origin string, offset int64) {
			if o, ok := wanted[origin]; ok {
				found[o] = models.Position{Topic: p.Topic, Partition: p.Number, Offset: offset}
			}
		})
		if err != nil {
			return nil, nil, err
		}
		for _, s := range list {
			if _, ok := found[s.origin]; !ok && (kept.From > s.from || kept.To < s.from) {
				lost[s.origin] = true
			}
		}
	}
	return found, lost, nil
}

// scan reads a partition from an offset to its end, and calls each with the messages that were sent again. It returns the part that the log had.
// The end is that of the leader's log: a message that is not replicated yet counts, too.
func (r *replayer) scan(ctx context.Context, p models.Partition, from int64, each func(origin string, offset int64)) (eventlog.Span, error) {
	n, err := topics.Partitions(ctx, r.Kafka, p.Topic)
	if errors.Is(err, topics.ErrMissing) || err == nil && p.Number >= n {
		return eventlog.Span{From: -1, To: -1}, nil
	}
	if err != nil {
		return eventlog.Span{}, err
	}
	ends, err := topics.ReplicatedEnds(ctx, r.Kafka, p.Topic, n)
	if err != nil {
		return eventlog.Span{}, err
	}
	return raw.Read(ctx, r.Kafka, p, eventlog.Span{From: from, To: ends[p.Number]}, func(m kafka.Message) error {
		for _, h := range m.Headers {
			if h.Key == originHeader {
				each(string(h.Value), m.Offset)
			}
		}
		return nil
	})
}
