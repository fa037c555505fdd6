package rollup

import (
	"context"
	"slices"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/models"
)

// grows tells whether the topic of clicks gets a second generation in this play: in every fourth.
func (c controls) grows(seed int) bool {
	return c.noGate || c.noInherit || c == controls{} && seed%4 == 0
}

// heirsOfClicks are the partitions of the second generation.
var heirsOfClicks = []models.Partition{{Topic: "clicks-g2", Number: 0}, {Topic: "clicks-g2", Number: 1}, {Topic: "clicks-g2", Number: 2}}

// succeed moves the second half of the clicks to the next generation, where visitors are in other partitions. Some of these clicks are
// duplicates of clicks in the first.
func (w *world) succeed() {
	w.partitions = append(w.partitions, heirsOfClicks...)
	for i := len(w.unwritten) / 2; i < len(w.unwritten); i++ {
		u := &w.unwritten[i]
		if u.p.Topic != "clicks" {
			continue
		}
		u.p = heirsOfClicks[0]
		if u.Event != nil {
			u.p = heirsOfClicks[eventlog.PartitionOf([]byte(u.KafkaKey()), eventlog.PartitionNumbers(len(heirsOfClicks)))]
		}
	}
}

// seal makes the sources of a world whose log is complete, with the first generation sealed at its end.
func (w *world) seal() {
	count := func(topic string) (n int) {
		for _, p := range w.partitions {
			if p.Topic == topic {
				n++
			}
		}
		return n
	}
	first := &eventlog.Source{Topic: "clicks", Inspect: eventlog.NewInspector(nil, count("clicks")), Seal: &eventlog.Seal{At: time.Now()}}
	for n := range first.Partitions() {
		first.Seal.Ends = append(first.Seal.Ends, w.written(models.Partition{Topic: "clicks", Number: n}))
	}
	next := &eventlog.Source{Topic: "clicks-g2", Inspect: eventlog.NewInspector(nil, count("clicks-g2")), Before: first}
	w.sources = eventlog.Sources{first.Topic: first, next.Topic: next}
}

// follow does what a member does before it counts a partition of a topic that grows: it sets its end, and inherits ids.
func (a *actor) follow(ctx context.Context, p models.Partition, own *owned, h eventlog.Hasher) error {
	src := a.w.sources[p.Topic]
	if src == nil {
		return nil
	}
	own.end, own.sealed = src.End(p.Number)
	if src.Before == nil || a.w.controls.noInherit {
		return nil
	}
	b, err := eventlog.Inherit(ctx, a.w, src, []int{p.Number}, h, simReach)
	own.window.Inherited = b.To[p.Number]
	return err
}

// gated tells whether a partition has to wait for the generation before it.
func (a *actor) gated(ctx context.Context, store store.Store, p models.Partition) bool {
	src := a.w.sources[p.Topic]
	if src == nil || src.Before == nil || a.w.controls.noGate {
		return false
	}
	open, err := eventlog.CountedToSeal(ctx, store, src.Before)
	return err != nil || !open
}

// noteEnds notes that partitions are counted to their ends, when no chunk is left that would note it. Real members release the
// partitions instead, with the same effect.
func (a *actor) noteEnds(ctx context.Context, o *ownership) error {
	if !slices.ContainsFunc(o.sorted(), func(p models.Partition) bool { return o.partitions[p].atEnd() }) {
		return nil
	}
	return o.progress(ctx)
}

// inheritedDuplicate looks for the last occurrence of the message's id in the generation before, naively.
func (w *world) inheritedDuplicate(p models.Partition, offset int) bool {
	src, m := w.sources[p.Topic], w.log[p][offset]
	if src == nil || src.Before == nil {
		return false
	}
	for n := range src.Before.Partitions() {
		log := w.log[models.Partition{Topic: src.Before.Topic, Number: n}]
		for i := len(log) - 1; i >= 0 && offset+len(log)-i <= int(simReach.Offsets); i-- {
			if log[i].Event != nil && log[i].EventID() == m.EventID() && log[i].KafkaKey() == m.KafkaKey() {
				return m.at.Sub(log[i].at) <= simReach.Age
			}
		}
	}
	return false
}

func (v *view) Committed(ctx context.Context, p models.Partition) (to int64, err error) {
	err = v.call(ctx, func() (err error) { to, err = v.Memory.Committed(ctx, p); return err })
	return to, err
}
