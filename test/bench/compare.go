package main

import (
	"context"
	"errors"
	"fmt"

	"footfall/test/bench/workload"
)

// compare measures all sides on one workload. While the topic holds no more than the part on which footfall is held against Cassandra's
// limit, the rivals are measured, who do not get further, and then that; then the others, on all of it.
func (b *bench) compare(ctx context.Context, w workload.Workload, t task) error {
	measure := func(s side, t task) error {
		if !b.wantsSide(w, s) {
			return nil
		}
		m, err := b.side(ctx, s, t)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		b.report.add(w, s, m)
		return nil
	}
	whole := t.Prefix == t.Events
	err := fillWithPause(ctx, w, t, func() error {
		if err := b.warmUp(ctx, w, t.prefix()); err != nil {
			return err
		}
		for _, s := range sides {
			if s.rival {
				if err := measure(s, t.prefix()); err != nil {
					return err
				}
			}
		}
		if !b.wantsSide(w, limit) {
			return nil
		}
		ours := beside
		if whole && b.wantsSide(w, footfall) {
			ours = footfall
		}
		return b.againstLimit(ctx, w, ours, t.prefix())
	})
	if err != nil {
		return err
	}
	for _, s := range sides {
		if s.rival || s.name == limit.name || s.name == beside.name || s.name == footfall.name && whole && b.wantsSide(w, limit) {
			continue // measured
		}
		if err := measure(s, t); err != nil {
			return err
		}
	}
	return nil
}

// warmUp runs the rivals for a while without measuring them, once: a Cassandra that has just been started compiles its code.
func (b *bench) warmUp(ctx context.Context, w workload.Workload, t task) error {
	if b.warm {
		return nil
	}
	b.warm = true
	t.Seconds = max(1, t.Seconds/4)
	for _, s := range sides {
		if !s.writes || s.processes > 0 || s.name == limit.name || s.name == spark.name || !b.wantsSide(w, s) {
			continue
		}
		if _, err := b.side(ctx, s, t); err != nil {
			return fmt.Errorf("warming up: %w", err)
		}
	}
	return nil
}

// wantsSide tells whether a side is to be measured on a workload. A viral link is a matter of footfall alone.
func (b *bench) wantsSide(w workload.Workload, s side) bool {
	if w.Name == "viral" {
		return s.name == footfall.name && b.wants(s.name, sideNames()...)
	}
	return b.wants(s.name, sideNames()...) && (!s.again || b.only[s.name]) && (!s.clicksOnly || w.Clicks)
}

// fillWithPause fills the topic, and has pause called when it has as many events as Cassandra's limit is measured on and no more.
func fillWithPause(ctx context.Context, w workload.Workload, t task, pause func() error) error {
	done := 0
	for events := range w.Pieces(t.Events) {
		cut := max(0, min(t.Prefix-done, len(events)))
		if err := workload.Fill(ctx, t.Broker, t.Topic, events[:cut]); err != nil {
			return err
		}
		if done < t.Prefix && done+cut == t.Prefix {
			if err := pause(); err != nil {
				return err
			}
		}
		if err := workload.Fill(ctx, t.Broker, t.Topic, events[cut:]); err != nil {
			return err
		}
		done += len(events)
	}
	return nil
}

// againstLimit measures footfall and Cassandra's limit on what is in the topic. Both begin with nothing and end with the last of it: in
// the middle of a topic a consumer has looked up the visitors of more than it has counted. Each is measured twice, the limit first and
// last, so that what drifts hits both alike: within one run the same requests took 11.7 and 14.3 s.
func (b *bench) againstLimit(ctx context.Context, w workload.Workload, ours side, t task) error {
	defer b.forget()
	if err := b.record(ctx, t); err != nil {
		return fmt.Errorf("recording footfall's requests: %w", err)
	}
	var rounds []measured
	for _, s := range []side{limit, ours, ours, limit} {
		m, err := b.side(ctx, s, t)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		rounds = append(rounds, m)
	}
	b.report.add(w, ours, mean(rounds[1], rounds[2]))
	b.report.add(w, limit, mean(rounds[0], rounds[3]))
	return nil
}

// sideNames are what can be asked for. beside comes with the limit.
func sideNames() (names []string) {
	for _, s := range sides {
		if s.name != beside.name {
			names = append(names, s.name)
		}
	}
	return names
}

// side measures one side in keyspaces of its own.
func (b *bench) side(ctx context.Context, s side, t task) (m measured, err error) {
	t.Kind = s.name
	if s.writes {
		if t.Suffix, err = b.migrate(ctx, t); err != nil {
			return m, err
		}
		defer func() { err = errors.Join(err, t.Drop(context.WithoutCancel(ctx), b.session)) }()
	}
	done := 0
	if s.again {
		if done, err = b.countHalf(ctx, t); err != nil {
			return m, err
		}
		t.Events -= done
	}
	before := b.serverCPU()
	switch {
	case s.processes > 0:
		m, err = b.measureFootfall(ctx, t, s.processes)
	case s.name == limit.name:
		m, err = b.replay(t)
	case s.name == spark.name:
		m, err = b.onSpark(ctx, t)
	default:
		m, err = inChild(ctx, t)
	}
	if m.ServerCPU == 0 {
		m.ServerCPU = b.serverCPU() - before
	}
	if err == nil && s.writes {
		err = b.verify(ctx, s, t, done, &m)
	}
	return m, err
}

// record has a child count what is in the topic, and learn the requests that this takes.
func (b *bench) record(ctx context.Context, t task) (err error) {
	t.Kind = limit.name
	if t.Suffix, err = b.migrate(ctx, t); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Drop(context.WithoutCancel(ctx), b.session)) }()
	if b.recorded, err = startChild(ctx, t); err != nil {
		return err
	}
	var ready bool
	return b.recorded.said(&ready)
}

// forget ends the child that has recorded, if there is one.
func (b *bench) forget() {
	if b.recorded != nil {
		_ = b.recorded.end() // it has said all that matters
		b.recorded = nil
	}
}

// replay has that child send them to tables of its own.
func (b *bench) replay(t task) (m measured, err error) {
	if _, err := fmt.Fprintln(b.recorded.in, t.Suffix); err != nil {
		return m, errors.Join(err, b.recorded.end())
	}
	err = b.recorded.said(&m)
	return m, err
}

// migrate makes fresh keyspaces and returns their suffix.
func (b *bench) migrate(ctx context.Context, t task) (string, error) {
	b.n++
	t.Suffix = fmt.Sprintf("_%s_%d", b.name, b.n)
	return t.Suffix, b.Migrate(ctx, t.Place)
}

// side is one of those that are compared.
type side struct {
	name, title string
	writes      bool // to Cassandra
	rival       bool // takes so long that it is measured on a part
	processes   int  // of footfall; else it runs in a child
	clicksOnly  bool
	goals       map[string]float64 // how many times its rate footfall is to reach, by workload; 1 where nothing is said
	again       bool               // only what comes after a restart is measured; to be asked for by name
}

var (
	usualConsumer = side{name: "usual", title: "the usual consumer", writes: true, rival: true, goals: map[string]float64{"clicks": 25, "visits": 30, "cold": 12}}
	batchingSink  = side{name: "sink", title: "the batching sink, which counts no uniques", writes: true, goals: map[string]float64{"clicks": 5, "cold": 2}}

	footfall = side{name: "footfall", title: "**footfall**", writes: true, processes: 1}

	// beside is footfall on no more events than those of the limit.
	beside = side{name: "beside", title: "**footfall**, on the events of the limit below", writes: true, processes: 1}

	// limit is Cassandra's: all that footfall could reach with the requests that it makes.
	limit = side{name: "replay", title: "Cassandra's limit: footfall's statements, nothing else", writes: true}
)

// sides are in the order of the report.
var sides = []side{
	{name: "kafka", title: "Kafka's limit: read, do nothing"},
	usualConsumer,
	batchingSink,
	spark,
	footfall,
	beside,
	limit,
	{name: "footfall2", title: "**footfall**, 2 processes", writes: true, processes: 2},
	{name: "again", title: "**footfall**, what is left after a restart: no visitor is known, every ledger is read", writes: true, processes: 1, again: true},
}
