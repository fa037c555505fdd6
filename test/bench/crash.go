package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"footfall/models"
	"footfall/test/bench/workload"
	"footfall/test/e2e/broker"
	"footfall/test/e2e/dump"
	"footfall/test/e2e/oracle"
)

// measureCrash kills those who go on where they left off, each in the midst of its writes, starts it again, and compares all cells with the oracle's.
func (b *bench) measureCrash(ctx context.Context) error {
	w := workload.All[0]
	text := fmt.Sprintf("kill -9 when half of %d clicks are in the tables, some of which the side does not know yet that it has counted; a new start; and every cell of "+
		"every table compared when it has come to the end. Spark repeats the batch that was under way, whatever of it was written.\n\n"+
		"| side | counted when killed | of these not committed | cells | wrong | clicks in the end |\n| --- | ---: | ---: | ---: | ---: | ---: |", b.events)
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
			var c crashed
			for tries := 0; c.counted <= c.committed; tries++ {
				if tries == 5 {
					return fmt.Errorf("%s: no kill hit a write", s.name)
				}
				var err error
				if c, err = b.crash(ctx, s, t, right.Cells()); err != nil {
					return fmt.Errorf("%s: %w", s.name, err)
				}
			}
			text += fmt.Sprintf("\n| %s | %d | %d | %d | %d | %d |", s.title, c.counted, c.counted-c.committed, len(right.Cells()), c.wrong, c.clicks)
			if s.name == footfall.name {
				b.report.reach("wrong cells after kill -9 and a new start", "= 0", float64(c.wrong), c.wrong == 0)
			}
		}
		return nil
	})
	if err == nil {
		b.report.section("Killed", text)
	}
	return err
}

// crashed is what came of a kill.
type crashed struct {
	counted, committed int // when it was killed
	wrong, clicks      int // cells and clicks, in the end
}

func (b *bench) crash(ctx context.Context, s side, t task, right oracle.Cells) (c crashed, err error) {
	limited, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	t.Kind, t.Scratch = s.name, b.Dir
	if t.Suffix, err = b.migrate(limited, t); err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, t.Drop(context.WithoutCancel(ctx), b.session)) }()
	begin, committed := b.beginFootfall, committedByGroup
	if s.name == spark.name {
		begin, committed = b.beginSpark, committedBySpark
	}
	first, err := begin(limited, t)
	if err != nil {
		return c, err
	}
	err = until(limited, t.Events/2, func() (int, error) {
		n, _, err := b.total(limited, t)
		return n, err
	})
	first.kill()
	if err != nil {
		return c, err
	}
	if c.counted, _, err = b.total(limited, t); err != nil {
		return c, err
	}
	if c.committed, err = committed(limited, t); err != nil {
		return c, err
	}
	if c.committed >= t.Events {
		return c, errors.New("all was counted before it was killed: more -events are needed")
	}
	second, err := begin(limited, t)
	if err != nil {
		return c, err
	}
	if err := second.finish(); err != nil {
		return c, err
	}
	if c.clicks, _, err = b.total(limited, t); err != nil {
		return c, err
	}
	got, err := dump.Cassandra(limited, b.session, t.Suffix)
	if err != nil {
		return c, err
	}
	c.wrong = len(oracle.Diff(right, got.Cells))
	return c, nil
}

// until waits until a number is as high as that.
func until(ctx context.Context, want int, number func() (int, error)) error {
	for {
		if n, err := number(); err != nil || n >= want {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
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
		err := until(ctx, t.Events, func() (int, error) {
			if !r.Running() {
				return 0, errors.New("it ended")
			}
			return committedByGroup(ctx, t)
		})
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

// committedByGroup is how many events footfall's group has committed.
func committedByGroup(ctx context.Context, t task) (n int, err error) {
	offsets, err := broker.New(t.Broker, "bench"+t.Suffix, "", t.Topic).Committed(ctx)
	for _, offset := range offsets {
		n += int(offset)
	}
	return n, err
}

// committedBySpark is how many events the checkpoint says are counted: those up to where the last batch ends that it has as done.
func committedBySpark(_ context.Context, t task) (n int, err error) {
	checkpoint := filepath.Join(t.Scratch, "checkpoint"+t.Suffix)
	for batch := 0; ; batch++ {
		if _, err := os.Stat(filepath.Join(checkpoint, "commits", strconv.Itoa(batch))); err != nil {
			return n, nil //nolint:nilerr // it is not done
		}
		text, err := os.ReadFile(filepath.Join(checkpoint, "offsets", strconv.Itoa(batch)))
		if err != nil {
			return 0, err
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n") // a version, settings, and the offsets of each source
		var ends map[string]map[string]int
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &ends); err != nil {
			return 0, err
		}
		n = 0
		for _, end := range ends[t.Topic] {
			n += end
		}
	}
}
