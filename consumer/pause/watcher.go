package pause

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/store"
	"footfall/internal/metric"
	"footfall/internal/retry"
)

// lookEvery is how often a consumer looks for a pause.
const lookEvery = time.Second

// Watcher tells a consumer when to rest. Not safe for concurrent use, except that AwaitPause may run in a goroutine of its own.
type Watcher struct {
	store store.Store
	log   *slog.Logger
	gauge prometheus.Gauge
}

// NewWatcher makes a watcher of the pauses that db knows, and registers its metric with reg.
func NewWatcher(db store.Store, reg *prometheus.Registry, log *slog.Logger) *Watcher {
	return &Watcher{store: db, log: log, gauge: metric.Gauge(reg, "footfall_paused",
		"1 while this consumer rests, since consumer pause asked for it; else 0.")}
}

// AwaitPause returns true when somebody has paused counting, and false when ctx ends.
func (w *Watcher) AwaitPause(ctx context.Context) bool {
	for retry.Sleep(ctx, lookEvery) == nil {
		// An error is no reason to rest: whoever pauses sees that this consumer does not.
		if _, paused, err := w.look(ctx); err == nil && paused {
			return true
		}
	}
	return false
}

// AwaitEnd returns true when counting is not paused, as the store says after the call, and false when ctx ends. It calls resting once if it
// has to wait.
func (w *Watcher) AwaitEnd(ctx context.Context, resting func()) bool {
	defer w.gauge.Set(0)
	for attempt, told := 0, false; ; {
		by, paused, err := w.look(ctx)
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil:
			attempt++
			w.log.Warn("looking whether counting is paused failed; trying again", "attempt", attempt, "error", err)
		case !paused:
			if told {
				w.log.Info("the pause is over: counting goes on")
			}
			return true
		case !told:
			told = true
			w.gauge.Set(1)
			w.log.Info("counting is paused; events wait in Kafka", "by", by)
			resting()
		}
		if retry.Sleep(ctx, lookEvery+retry.Backoff(attempt)) != nil {
			return false
		}
	}
}

// look tells whether counting is paused, and by whom.
func (w *Watcher) look(ctx context.Context) (string, bool, error) {
	leases, err := w.store.Leases(ctx)
	if err != nil {
		return "", false, err
	}
	if i := slices.IndexFunc(leases, isPause); i >= 0 {
		return leases[i].What, true, nil
	}
	return "", false, nil
}
