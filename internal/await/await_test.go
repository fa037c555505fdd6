package await

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/internal/retry"
)

var errDown = errors.New("connection refused")

// said is a waiter, and what it logs.
func said() (*Waiter, *bytes.Buffer) {
	var log bytes.Buffer
	return New(slog.New(slog.NewTextHandler(&log, nil))), &log
}

func lines(log *bytes.Buffer, with string) int { return strings.Count(log.String(), with) }

// A waiter says at once what it waits for, again every ten seconds, and to whoever asks. Then it says that the wait is over.
func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, log := said()
		begun := time.Now()
		done := make(chan error)
		go func() {
			done <- w.For(t.Context(), "Cassandra", func(context.Context) error {
				if time.Since(begun) < 35*time.Second {
					return errDown
				}
				return nil
			})
		}()
		reg := prometheus.NewRegistry()
		w.Register(reg)
		tells := func(want float64) {
			t.Helper()
			if got, err := reg.Gather(); err != nil || len(got) != 1 || got[0].Metric[0].Gauge.GetValue() != want {
				t.Errorf("footfall_waiting is %v, %v; want %v", got, err, want)
			}
		}
		const want = `msg="waiting for Cassandra" error="connection refused"`
		for _, at := range []struct {
			after time.Duration
			lines int
		}{{time.Millisecond, 1}, {9 * time.Second, 1}, {10*time.Second + time.Millisecond, 2}, {20*time.Second + time.Millisecond, 3}, {30*time.Second + time.Millisecond, 4}} {
			time.Sleep(at.after - time.Since(begun))
			synctest.Wait()
			if n := lines(log, want); n != at.lines {
				t.Errorf("%d lines after %v, want %d:\n%s", n, at.after, at.lines, log)
			}
			if err := w.Check(); err == nil || err.Error() != "waiting for Cassandra: connection refused" {
				t.Errorf("ready after %v: %v", at.after, err)
			}
			tells(1)
		}
		if err := <-done; err != nil || w.Check() != nil || lines(log, "the wait for Cassandra is over") != 1 {
			t.Errorf("at the end %v, %v:\n%s", err, w.Check(), log)
		}
		tells(0)
	})
}

// What is there is not waited for, and nothing is logged.
func TestForNothing(t *testing.T) {
	w, log := said()
	if err := w.For(t.Context(), "Kafka", func(context.Context) error { return nil }); err != nil || log.Len() > 0 || w.Check() != nil {
		t.Errorf("%v, %v, %s", err, w.Check(), log)
	}
}

// A waiter gives up at once if waiting cannot mend it, also if that shows later.
func TestForWhatWaitingCannotMend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, log := said()
		refused := retry.Final(errors.New("wrong password"))
		if err := w.For(t.Context(), "Kafka", func(context.Context) error { return refused }); !errors.Is(err, refused) || log.Len() > 0 {
			t.Errorf("%v, %s", err, log)
		}
		tries := 0
		err := w.For(t.Context(), "Kafka", func(context.Context) error {
			if tries++; tries < 3 {
				return errDown
			}
			return refused
		})
		if !errors.Is(err, refused) || tries != 3 || lines(log, "waiting for Kafka") != 1 || w.Check() != nil {
			t.Errorf("%v after %d tries: %s", err, tries, log)
		}
	})
}

// An attempt that hangs is told of, and ends with the context. The error is the last that says why.
func TestForUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, log := said()
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		hang := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		go func() {
			time.Sleep(time.Second)
			if err := w.Check(); err == nil || err.Error() != "waiting for Kafka: no answer yet" {
				t.Errorf("ready: %v", err)
			}
		}()
		if err := w.For(ctx, "Kafka", hang); !errors.Is(err, context.DeadlineExceeded) || lines(log, "no answer yet") != 2 {
			t.Errorf("%v, %s", err, log)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		tries := 0
		err := w.For(ctx, "Kafka", func(ctx context.Context) error {
			if tries++; tries == 1 {
				return errDown
			}
			return hang(ctx)
		})
		if !errors.Is(err, errDown) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v after %d tries", err, tries)
		}
	})
}

// With a limit it gives up, but never in the midst of an attempt.
func TestForLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := said()
		w.Limit = time.Minute
		begun := time.Now()
		err := w.For(t.Context(), "Cassandra", func(context.Context) error { return errDown })
		if took := time.Since(begun); !errors.Is(err, errDown) || took != time.Minute || !strings.Contains(err.Error(), "Cassandra: not there after 1m0s: connection refused") {
			t.Errorf("%v after %v", err, took)
		}
		err = w.For(t.Context(), "Cassandra", func(context.Context) error {
			time.Sleep(time.Hour)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
