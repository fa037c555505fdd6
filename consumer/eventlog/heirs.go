package eventlog

import (
	"context"
	"log/slog"
	"sync"

	"footfall/internal/retry"
)

// Heirs makes fetchers of later generations wait for the earlier ones, and fills their duplicate windows with the ids that they inherit.
// Each member of the group has one per group generation. Add is not safe for concurrent use.
type Heirs struct {
	Sources Sources
	byTopic map[string]*heirTopic
	make    func(*Source) *heirTopic
}

// heirTopic is one generation that has another before it.
type heirTopic struct {
	*Succession
	read func(context.Context, []int) (Bequest, error)
	log  *slog.Logger

	mu         sync.Mutex
	partitions []int // those of this member that inherit ids
	got        *Bequest
}

// NewHeirs makes the Heirs of one member. h makes the fingerprints that its windows hold.
func NewHeirs(l *Log, h Hasher, src Sources) Heirs {
	return Heirs{src, map[string]*heirTopic{}, func(s *Source) *heirTopic {
		return &heirTopic{
			Succession: newSuccession(l.Store, s.Before, l.Logger), log: l.Logger,
			read: func(ctx context.Context, partitions []int) (Bequest, error) {
				return Inherit(ctx, &KafkaReader{Kafka: l.Kafka, Sources: src}, s, partitions, h, l.Reach())
			},
		}
	}}
}

// Add makes a fetcher wait until the generation before is counted, if there is one, and fill w from it if that is within reach.
func (h Heirs) Add(f *Fetcher, w *Window) {
	src := h.Sources[f.Partition.Topic]
	if src.Before == nil {
		return
	}
	topic := h.byTopic[src.Topic]
	if topic == nil {
		topic = h.make(src)
		h.byTopic[src.Topic] = topic
	}
	f.Gates = append([]Gate{topic.Gate}, f.Gates...) // first: the gate that reads notices has to come after this wait
	if w.Inherited != nil || f.Start > w.Offsets {
		return
	}
	topic.partitions = append(topic.partitions, f.Partition.Number)
	f.ready = func(ctx context.Context) error {
		ids, err := topic.of(ctx, f.Partition.Number)
		w.inherit(ids)
		f.ready = nil // Run may begin again
		return err
	}
}

// Successions lists the gates that fetchers wait at. The caller has to run Await of each.
func (h Heirs) Successions() (list []*Succession) {
	for _, topic := range h.byTopic {
		list = append(list, topic.Succession)
	}
	return list
}

// of returns what a partition inherits, once. The first caller reads for all of this member's partitions. It retries until the log can be
// read, or ctx ends.
func (t *heirTopic) of(ctx context.Context, partition int) (Inherited, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for attempt := 0; t.got == nil; attempt++ {
		got, err := t.read(ctx, t.partitions)
		if err == nil {
			t.got = &got
			if !got.missing.IsZero() {
				t.log.Warn("Kafka has deleted recent ids of the previous generation: events sent again would be counted twice; keep a sealed"+
					" topic for duplicates.age", "topic", t.after.Topic, "missing_until", got.missing)
			}
			break
		}
		if ctx.Err() == nil {
			t.log.Warn("reading the ids of the previous generation failed; trying again", "topic", t.after.Topic, "attempt", attempt+1,
				"error", err)
		}
		if err := retry.Sleep(ctx, retry.Backoff(attempt)); err != nil {
			return nil, err
		}
	}
	ids := t.got.To[partition]
	delete(t.got.To, partition) // the window keeps them for as long as they are within reach
	return ids, nil
}
