package rollup

import (
	"context"
	"log/slog"
	"sync"

	"footfall/models"
)

// heirs sees to it that the partitions of later generations wait for those before them, and begin with what they inherit. It is that
// of one member, for as long as it has the same partitions.
type heirs struct {
	sources sources
	byTopic map[string]*heirTopic
	make    func(*source) *heirTopic
}

// heirTopic is the partitions of one generation.
type heirTopic struct {
	*succession
	read func(context.Context, []int) (bequest, error)
	log  *slog.Logger

	mu         sync.Mutex
	partitions []int // that inherit
	got        *bequest
}

func (c *Consumer) newHeirs(src sources) heirs {
	return heirs{src, map[string]*heirTopic{}, func(s *source) *heirTopic {
		return &heirTopic{
			succession: newSuccession(c.store, s.before, c.log), log: c.log,
			read: func(ctx context.Context, partitions []int) (bequest, error) {
				return inherit(ctx, &kafkaLog{kafka: c.kafka, sources: src}, s, partitions, c.hasher, c.reach())
			},
		}
	}}
}

// add lets a fetcher wait for the generation before, if there is one, and fill its window from it, if that is within reach.
func (h heirs) add(f *fetcher, w *window) {
	src := h.sources[f.partition.Topic]
	if src.before == nil {
		return
	}
	topic := h.byTopic[src.topic]
	if topic == nil {
		topic = h.make(src)
		h.byTopic[src.topic] = topic
	}
	f.gates = append([]gate{topic.gate}, f.gates...) // notices have to be fresh when it opens
	if w.inherited != nil || f.start > w.offsets {
		return
	}
	topic.partitions = append(topic.partitions, f.partition.Number)
	f.ready = func(ctx context.Context) (err error) {
		w.inherited, err = topic.of(ctx, f.partition.Number)
		return err
	}
}

func (h heirs) successions() (list []*succession) {
	for _, topic := range h.byTopic {
		list = append(list, topic.succession)
	}
	return list
}

// of is what a partition inherits. All partitions of this member are read at once, by the first that asks. It goes on trying until the
// log can be read, or ctx ends.
func (t *heirTopic) of(ctx context.Context, partition int) (inherited, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for attempt := 0; t.got == nil; attempt++ {
		got, err := t.read(ctx, t.partitions)
		if err == nil {
			t.got = &got
			if !got.missing.IsZero() {
				t.log.Warn("ids of the generation before are no longer in the log: such that come again would be counted twice; keep it for"+
					" duplicates.age after it was sealed", "topic", t.after.topic, "missing_until", got.missing)
			}
			break
		}
		if ctx.Err() == nil {
			t.log.Warn("reading the ids of the generation before failed; trying again", "topic", t.after.topic, "attempt", attempt+1,
				"error", err)
		}
		if err := sleep(ctx, backoff(attempt)); err != nil {
			return nil, err
		}
	}
	return t.got.to[partition], nil
}

// counts tells whether the partition is read and its events are counted: those that somebody added are carried over instead.
func (s sources) counts(p models.Partition) bool {
	src, known := s[p.Topic]
	return known && !src.gone && p.Number < src.partitions()
}
