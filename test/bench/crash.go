package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"footfall/models"
	"footfall/test/bench/workload"
	"footfall/test/e2e/dump"
	"footfall/test/e2e/oracle"
)

// measureCrash kills those who go on where they left off, each in the midst of its writes, starts it again, and compares all cells with the oracle's.
func (b *bench) measureCrash(ctx context.Context) error {
	w := workload.All[0]
	text := fmt.Sprintf("kill -9 when half of %d clicks are in the tables, a new start, and every cell of every table compared when it has come to the end.\n\n"+
		"| side | cells | wrong | clicks in the tables |\n| --- | ---: | ---: | ---: |", b.events)
	err := b.withFullTopic(ctx, w, b.events, func(t task) error {
		right := oracle.New()
		for events := range w.Pieces(t.Events) {
			for _, e := range events {
				right.Click(e.(*models.Click))
			}
		}
		for _, s := range []side{spark, footfall} {
			if !b.wantsSide(w, s) {
				continue
			}
			wrong, clicks, err := b.crash(ctx, s, t, right.Cells())
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			text += fmt.Sprintf("\n| %s | %d | %d | %d |", s.title, len(right.Cells()), wrong, clicks)
			if s.name == footfall.name {
				b.report.reach("wrong cells after kill -9 and a new start", "0", float64(wrong), wrong == 0)
			}
		}
		return nil
	})
	if err == nil {
		b.report.section("Killed", text)
	}
	return err
}

// crash kills one side, and tells how many cells are wrong in the end, and how many clicks are in the tables.
func (b *bench) crash(ctx context.Context, s side, t task, right oracle.Cells) (wrong, clicks int, err error) {
	t.Kind, t.Scratch = s.name, b.Dir
	if t.Suffix, err = b.migrate(ctx, t); err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, t.Drop(context.WithoutCancel(ctx), b.session)) }()
	begin := b.beginFootfall
	if s.name == spark.name {
		begin = b.beginSpark
	}
	first, err := begin(ctx, t)
	if err != nil {
		return 0, 0, err
	}
	counted, err := b.untilCounted(ctx, t, t.Events/2)
	first.kill()
	if err != nil {
		return 0, 0, err
	}
	if counted >= t.Events {
		return 0, 0, errors.New("all was counted before it was killed: more -events are needed")
	}
	second, err := begin(ctx, t)
	if err != nil {
		return 0, 0, err
	}
	if err := second.finish(); err != nil {
		return 0, 0, err
	}
	if clicks, _, err = b.total(ctx, t); err != nil {
		return 0, 0, err
	}
	got, err := dump.Cassandra(ctx, b.session, t.Suffix)
	if err != nil {
		return 0, 0, err
	}
	return len(oracle.Diff(right, got.Cells)), clicks, nil
}

// untilCounted waits until the tables have so many clicks, or more.
func (b *bench) untilCounted(ctx context.Context, t task, want int) (counted int, err error) {
	for {
		if counted, _, err = b.total(ctx, t); err != nil || counted >= want {
			return counted, err
		}
		select {
		case <-ctx.Done():
			return counted, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// begun is a side at work.
type begun struct {
	kill   func()
	finish func() error // waits for the end of the topic
}

func (b *bench) beginFootfall(ctx context.Context, t task) (begun, error) {
	b.n++
	r, err := b.StartConsumer(ctx, t.Place, "bench"+t.Suffix, b.n)
	if err != nil {
		return begun{}, err
	}
	return begun{r.Kill, func() error {
		_, err := b.untilCounted(ctx, t, t.Events)
		return errors.Join(err, r.Stop(time.Minute))
	}}, nil
}

func (b *bench) beginSpark(ctx context.Context, t task) (begun, error) {
	r, err := startChild(ctx, t)
	if err != nil {
		return begun{}, err
	}
	return begun{func() { _ = r.cmd.Process.Kill(); _ = r.cmd.Wait() }, func() error {
		var m measured
		return errors.Join(r.said(&m), r.end())
	}}, nil
}
