package links

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/models"
)

const (
	// workers write clicks at the same time: each waits for Kafka's acknowledgement, and they share its requests.
	workers = 64

	firstRetry, lastRetry = 100 * time.Millisecond, 2 * time.Second

	// farewell is how long a worker may take to notice that it must give up.
	farewell = time.Second
)

// queue holds clicks until Kafka has them. It is bounded: while Kafka is away it fills up, and what does not fit is
// dropped and counted. It is safe for concurrent use.
type queue struct {
	o       *Options
	log     *slog.Logger
	dropped *prometheus.CounterVec

	clicks  chan *models.Click
	working sync.WaitGroup
	stop    context.Context // ends when workers must give up
	giveUp  context.CancelFunc

	left atomic.Int64 // clicks that were given up

	mu     sync.RWMutex // add holds it to read, so that nobody adds to a closed queue
	closed bool
}

func newQueue(o Options) *queue {
	q := &queue{o: &o, log: o.Log, clicks: make(chan *models.Click, o.Queue)}
	q.stop, q.giveUp = context.WithCancel(context.Background())
	q.dropped = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "footfall_clicks_dropped_total",
		Help: "Redirects whose click was not written to Kafka, by reason: queue_full, invalid, closing, panic.",
	}, []string{"reason"})
	for _, reason := range []string{"queue_full", "invalid", "closing", "panic"} {
		q.dropped.WithLabelValues(reason) // 0 is worth seeing
	}
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "footfall_clicks_queued",
		Help: "Clicks of redirects that wait for Kafka; links.queue is the most there can be.",
	}, func() float64 { return float64(len(q.clicks)) })
	o.Metrics.MustRegister(q.dropped, waiting)
	for range workers {
		q.working.Go(q.work)
	}
	return q
}

// add takes a click, or drops it. It never waits.
func (q *queue) add(c *models.Click) {
	if err := c.Validate(); err != nil {
		q.drop("invalid", err)
		return
	}
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		q.drop("closing", nil)
		return
	}
	select {
	case q.clicks <- c:
	default:
		q.drop("queue_full", nil)
	}
}

func (q *queue) drop(reason string, err error) {
	q.dropped.WithLabelValues(reason).Inc()
	if err != nil {
		q.log.Warn("a redirect's click was dropped", "reason", reason, "error", err.Error())
	}
}

func (q *queue) work() {
	for c := range q.clicks {
		switch err := q.write(c); {
		case errors.Is(err, errPanic):
			q.drop("panic", err)
		case err != nil:
			q.left.Add(1)
			q.drop("closing", nil)
		}
	}
}

// write tries until Kafka has the click or the door is closed for good. What panics once would again.
func (q *queue) write(c *models.Click) error {
	for wait := firstRetry; q.stop.Err() == nil; wait = min(2*wait, lastRetry) {
		if err := q.try(c); err == nil || errors.Is(err, errPanic) {
			return err
		}
		select {
		case <-q.stop.Done():
		case <-time.After(wait):
		}
	}
	return q.stop.Err()
}

func (q *queue) try(c *models.Click) (err error) {
	defer q.o.survive("writing a click", &err)
	return q.o.Publish(q.stop, c)
}

func (q *queue) close(ctx context.Context) {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return
	}
	q.closed = true
	close(q.clicks)
	q.mu.Unlock()

	done := make(chan struct{})
	go func() {
		defer close(done)
		q.working.Wait()
	}()
	select {
	case <-done:
		q.giveUp()
		return
	case <-ctx.Done():
	}
	q.giveUp()
	select {
	case <-done: // they have dropped what was left, so that the metric is right
	case <-time.After(farewell):
	}
	q.log.Warn("left clicks of redirects uncounted, since Kafka did not take them in time", "clicks", q.left.Load())
}
