package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"footfall/test/bench/subject"
	"footfall/test/bench/workload"
	"footfall/test/e2e/load"
)

// besideOld measures this footfall and an older one, in turns, on the same servers and the same events: a ratio of two runs that
// were made one after the other says little on a busy machine. `which` is a commit, or a directory with other sources.
func (b *bench) besideOld(ctx context.Context, which string) error {
	old, err := b.buildOld(ctx, which)
	if err != nil {
		return err
	}
	v := &versions{now: b, old: old}
	for _, w := range workload.All {
		if b.wants(w.Name, parts...) {
			if err := v.consumers(ctx, w); err != nil {
				return fmt.Errorf("%s: %w", w.Name, err)
			}
		}
	}
	for name, measure := range map[string]func(context.Context) error{"producer": v.producers, "freshness": v.freshness} {
		if b.wants(name, parts...) {
			if err := measure(ctx); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if err := b.measureLive(ctx, old, b); err != nil || v.lines == "" {
		return err
	}
	b.report.section("Beside "+which, "Each was measured in the order of old, new, new, old; the means of both.\n\n"+
		"| what | old | new | new / old |\n| --- | ---: | ---: | ---: |"+v.lines)
	return nil
}

// buildOld compiles the other footfall.
func (b *bench) buildOld(ctx context.Context, which string) (*bench, error) {
	sources, old := which, *b
	old.Bin, old.name = filepath.Join(b.Dir, "old"), b.name+"old"
	if info, err := os.Stat(which); err != nil || !info.IsDir() {
		sources = filepath.Join(b.Dir, "sources")
		if err := os.Mkdir(sources, 0o750); err != nil {
			return nil, err
		}
		if err := run(ctx, "sh", "-c", `git archive "$1" | tar -x -C "$2"`, "sh", which, sources); err != nil {
			return nil, fmt.Errorf("fetching the sources of %s: %w", which, err)
		}
	}
	if err := run(ctx, "go", "build", "-C", sources, "-o", old.Bin+string(filepath.Separator), "./consumer", "./producer"); err != nil {
		return nil, err
	}
	var err error
	old.Settings, err = subject.ReadSettings(sources)
	return &old, err
}

func run(ctx context.Context, name string, args ...string) error {
	if printed, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, printed)
	}
	return nil
}

// versions are two footfalls, and what was measured of them.
type versions struct {
	now, old *bench
	lines    string // of a table
}

// line adds what was measured of both.
func (v *versions) line(what, format string, old, now float64) {
	v.lines += fmt.Sprintf("\n| %s | "+format+" | "+format+" | %.3f |", what, old, now, now/old)
	fmt.Fprintf(os.Stderr, "%s: "+format+", "+format+"\n", what, old, now)
}

// consumers has both count the same topic. A workload on which Cassandra's limit is measured in part is measured in part here, too.
func (v *versions) consumers(ctx context.Context, w workload.Workload) error {
	n := max(1, v.now.events/w.Shorter())
	return v.now.withFullTopic(ctx, w, n, func(t task) error {
		t.Uniques, _ = w.Uniques(n, n)
		measure := func(b *bench) (measured, error) { return b.side(ctx, footfall, t) }
		old, now, err := inOrder(v, measure)
		if err != nil {
			return err
		}
		before, after := mean(old[0], old[1]), mean(now[0], now[1])
		v.line(w.Name+": events/s", "%.0f", before.rate(), after.rate())
		v.line(w.Name+": CPU s per 100k", "%.2f", before.CPU*1e5/float64(n), after.CPU*1e5/float64(n))
		if before.ServerCPU > 0 && after.ServerCPU > 0 {
			v.line(w.Name+": Cassandra's CPU s per 100k", "%.2f", before.ServerCPU*1e5/float64(n), after.ServerCPU*1e5/float64(n))
		}
		v.line(w.Name+": requests per event", "%.4f", before.Requests/float64(n), after.Requests/float64(n))
		v.line(w.Name+": peak memory, MiB", "%.0f", float64(before.Peak>>20), float64(after.Peak>>20))
		return nil
	})
}

// inOrder measures both, the old one first and last, so that what drifts hits both alike.
func inOrder[T any](v *versions, measure func(*bench) (T, error)) (old, now [2]T, err error) {
	for _, one := range []struct {
		b   *bench
		out *T
	}{{v.old, &old[0]}, {v.now, &now[0]}, {v.now, &now[1]}, {v.old, &old[1]}} {
		if *one.out, err = measure(one.b); err != nil {
			return old, now, err
		}
	}
	return old, now, nil
}

// producers has both take single events and batches, in short rounds.
func (v *versions) producers(ctx context.Context) error {
	return v.now.withTopic(ctx, workload.All[0], 0, func(t task) (err error) {
		var sides []func() (float64, error)
		seconds := max(1, v.now.seconds/30)
		single, many := requestBodies(5000, 1), requestBodies(20, batchEvents)
		for i, b := range []*bench{v.old, v.now} {
			t.Suffix = fmt.Sprint("-", i)
			p, address, err := b.StartProducer(ctx, t.Place)
			if err != nil {
				return err
			}
			defer func() { _ = p.Stop(time.Minute) }()
			sides = append(sides, func() (float64, error) {
				return post(ctx, address, "application/json", single, 1, singleConnections, seconds)
			}, func() (float64, error) {
				return post(ctx, address, "application/x-ndjson", many, batchEvents, batchConnections, seconds)
			})
		}
		rates, err := inTurns(sides...)
		if err != nil {
			return err
		}
		v.line("producer: single events/s", "%.0f", rates[0], rates[2])
		v.line("producer: NDJSON events/s", "%.0f", rates[1], rates[3])
		return nil
	})
}

// freshness compares how long a click takes until it can be read.
func (v *versions) freshness(ctx context.Context) error {
	measure := func(b *bench) (waits [2]time.Duration, err error) {
		err = b.withTopic(ctx, workload.All[0], 0, func(t task) error {
			sorted, _, err := b.freshness(ctx, t, max(10, b.seconds/3))
			waits = [2]time.Duration{load.Percentile(sorted, 50), load.Percentile(sorted, 99)}
			return err
		})
		return waits, err
	}
	old, now, err := inOrder(v, measure)
	if err != nil {
		return err
	}
	for i, name := range []string{"p50", "p99"} {
		v.line("freshness "+name+", s", "%.2f", (old[0][i]+old[1][i]).Seconds()/2, (now[0][i]+now[1][i]).Seconds()/2)
	}
	return nil
}
