// Package await waits for what a process needs when it starts: servers, topics, a schema. It says what it waits for and why, in the log and to
// those who ask whether the process is ready, and gives up only if waiting cannot mend what is wrong (retry.IsFinal).
package await

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/internal/metric"
	"footfall/internal/retry"
)

// tellEvery is how often the log says what a process waits for.
const tellEvery = 10 * time.Second

// errNoAnswer is why a process waits before the first attempt has failed.
var errNoAnswer = errors.New("no answer yet")

// Waiter waits for one thing after the other. Check may be called concurrently, For not.
type Waiter struct {
	// Limit is how long For goes on trying. 0: for ever.
	Limit time.Duration

	log *slog.Logger

	mu   sync.Mutex
	what string // that is waited for; empty: nothing
	why  error
}

// New makes a waiter that waits for ever.
func New(log *slog.Logger) *Waiter { return &Waiter{log: log} }

// Register adds the metric footfall_waiting to those of the process.
func (w *Waiter) Register(reg prometheus.Registerer) {
	metric.Measured(reg, "footfall_waiting", "1 while this process waits for what it needs to start: its log and /readyz say for what; else 0.",
		func() int {
			if w.Check() != nil {
				return 1
			}
			return 0
		})
}

// Check returns nil if nothing is waited for, else an error that says what is, and why.
func (w *Waiter) Check() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.what == "" {
		return nil
	}
	return fmt.Errorf("waiting for %s: %w", w.what, w.why)
}

func (w *Waiter) set(what string, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.what, w.why = what, why
}

// For calls try until it returns nil. It logs a line when try fails for the first time, and then one every ten seconds. It returns an error
// if try's is final, if Limit is over, or when ctx ends; try has to return then.
func (w *Waiter) For(ctx context.Context, what string, try func(context.Context) error) error {
	w.set(what, errNoAnswer)
	defer w.set("", nil)
	began := time.Now()
	tell, stop := w.tell(what)
	defer stop()
	var last error
	for attempt := 0; ; attempt++ {
		err := try(ctx)
		switch {
		case err == nil:
			if stop() {
				w.log.Info("the wait for "+what+" is over", "seconds", int(time.Since(began).Seconds()))
			}
			return nil
		case retry.IsFinal(err):
			return err
		case ctx.Err() == nil || last == nil:
			last = err // else ctx cut the attempt short, and err says nothing about what is wrong
		}
		w.set(what, last)
		pause := retry.Backoff(attempt)
		if w.Limit > 0 {
			left := w.Limit - time.Since(began)
			if left <= 0 {
				return fmt.Errorf("%s: not there after %v: %w", what, w.Limit, last)
			}
			pause = min(pause, left)
		}
		if attempt == 0 && ctx.Err() == nil {
			tell()
		}
		if retry.Sleep(ctx, pause) != nil {
			return fmt.Errorf("waiting for %s: %w", what, last)
		}
	}
}

// tell logs why the process waits whenever the returned function is called, and every ten seconds, also while an attempt hangs, until
// stop, which returns whether anything was logged. stop may be called twice.
func (w *Waiter) tell(what string) (now func(), stop func() bool) {
	at, done := make(chan struct{}), make(chan struct{})
	var telling sync.WaitGroup
	said := false
	telling.Go(func() {
		tick := time.NewTicker(tellEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-at:
				tick.Reset(tellEvery)
			case <-tick.C:
			}
			w.mu.Lock()
			why := w.why
			w.mu.Unlock()
			said = true
			w.log.Warn("waiting for "+what, "error", why.Error())
		}
	})
	end := sync.OnceFunc(func() { close(done) })
	return func() { at <- struct{}{} }, func() bool {
		end()
		telling.Wait()
		return said
	}
}
