package eventlog

import (
	"context"
	"log/slog"
	"sync"

	"footfall/internal/retry"
)

// Heirs sees to it that the partitions of later generations wait for those before them, and begin with what they inherit. It is that
// of one member, for as long as it has the same partitions.
type Heirs struct {
	Sources Sources
	byTopic map[string]*heirTopic
	make    func(*Source) *heirTopic
}

// heirTopic is the partitions of one generation.
type heirTopic struct {
	*Succession
	read func(context.Context, []int) (Bequest, error)
	log  *slog.Logger

	mu         sync.Mutex
	partitions []int // that inherit
	got        *Bequest
}

// NewHeirs makes the heirs among the sources, whose windows are filled with fingerprints of h.
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

// Add lets a fetcher wait for the generation before, if there is one, and fill its window from it, if that is within reach.
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
	f.Gates = append([]Gate{topic.Gate}, f.Gates...) // notices have to be fresh when it opens
	if w.Inherited != nil || f.Start > w.Offsets {
		return
	}
	topic.partitions = append(topic.partitions, f.Partition.Number)
	f.ready = func(ctx context.Context) (err error) {
		w.Inherited, err = topic.of(ctx, f.Partition.Number)
		return err
	}
}

// Successions lists what fetchers wait for. Somebody has to await each.
func (h Heirs) Successions() (list []*Succession) {
	for _, topic := range h.byTopic {
		list = append(list, topic.Succession)
	}
	return list
}

// of is what a partition inherits. All partitions of this member are read at once, by the first that asks. It goes on trying until the
// log can be read, or ctx ends.
func (t *heirTopic) of(ctx context.Context, partition int) (Inherited, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for attempt := 0; t.got == nil; attempt++ {
		got, err := t.read(ctx, t.partitions)
		if err == nil {
			t.got = &got
			if !got.missing.IsZero() {
				t.log.Warn("ids of the generation before are no longer in the log: such that come again would be counted twice; keep it for"+
					" duplicates.age after it was sealed", "topic", t.after.Topic, "missing_until", got.missing)
			}
			break
		}
		if ctx.Err() == nil {
			t.log.Warn("reading the ids of the generation before failed; trying again", "topic", t.after.Topic, "attempt", attempt+1,
				"error", err)
		}
		if err := retry.Sleep(ctx, retry.Backoff(attempt)); err != nil {
			return nil, err
		}
	}
	return t.got.To[partition], nil
}
