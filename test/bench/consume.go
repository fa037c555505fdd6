package main

import (
	"context"
	"strings"
	"time"

	"footfall/test/bench/machine"
	"footfall/test/bench/subject"
)

// measureFootfall has so many consumers count a full topic. The clock runs from when the group has given the first of them its
// partitions until the last event is counted.
func (b *bench) measureFootfall(ctx context.Context, t task, processes int) (m measured, err error) {
	var running []*subject.Replica
	defer func() {
		for _, r := range running {
			if failed := r.Stop(time.Minute); err == nil {
				err = failed
			}
		}
	}()
	for i := range processes {
		r, err := b.StartConsumer(ctx, t.Place, "bench"+t.Suffix, i)
		if err != nil {
			return m, err
		}
		running = append(running, r)
	}
	begun := time.Time{}
	for {
		sum, err := subject.Scrape(ctx, running...)
		if err != nil {
			return m, err
		}
		applied := sum[`events{outcome="applied"}`]
		if begun.IsZero() && (sum["generations"] > 0 || applied > 0) {
			begun = time.Now()
		}
		if applied >= float64(t.Events) {
			m.Seconds = time.Since(begun).Seconds()
			return m, m.fill(t, sum, running)
		}
		select {
		case <-ctx.Done():
			return m, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// fill reads off the rest.
func (m *measured) fill(t task, sum map[string]float64, running []*subject.Replica) error {
	m.Events, m.Requests, m.Statements = t.Events, sum["requests"], sum["statements"]
	m.Keys = sum["keys"]
	m.Kinds, m.Values = map[string]float64{}, map[string]float64{
		"lookups": sum["lookups"], "ledger": sum["ledger"], "flushes": sum["flushes"],
		"flush seconds": sum["flush seconds"],
	}
	for name, value := range sum {
		if kind, ok := strings.CutPrefix(name, "requests of "); ok {
			m.Kinds[kind] = value
		}
	}
	for _, r := range running {
		cpu, peak, err := machine.Cost(r.PID())
		if err != nil {
			return err
		}
		m.CPU += cpu
		m.Peak += peak
	}
	return nil
}
