package links

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/internal/fair"
	"footfall/internal/metric"
	"footfall/models"
)

const (
	// workers is how many clicks are written concurrently. Each worker waits for Kafka's acknowledgement; their clicks share
	// requests.
	workers = 64

	firstRetry, lastRetry = 100 * time.Millisecond, 2 * time.Second

	// closeGrace is how long a worker may take to notice that it must give up.
	closeGrace = time.Second
)

// queue holds clicks until Kafka has them. It is bounded: while Kafka is unavailable it fills up, and what does not fit is
// dropped and counted. A client that follows links faster than Kafka takes clicks loses its own clicks only (fair.Shares). It is safe
// for concurrent use.
type queue struct {
	o       *Options
	log     *slog.Logger
	dropped *prometheus.CounterVec

	clicks  chan queued
	waiting *fair.Places[netip.Prefix] // in clicks
	working sync.WaitGroup
	stop    context.Context // ends when workers must give up
	giveUp  context.CancelFunc

	left atomic.Int64 // clicks that were given up

	mu     sync.Mutex // of closed; add holds it, so that nobody adds to a closed queue
	closed bool
}

// queued is a click that waits, and the customer's network whose place in the queue it takes.
type queued struct {
	click *models.Click
	from  netip.Prefix
}

func newQueue(o Options) *queue {
	room := o.Queue + (o.Queue+1)/2
	q := &queue{o: &o, log: o.Log, clicks: make(chan queued, room), waiting: fair.NewPlaces[netip.Prefix](room)}
	q.stop, q.giveUp = context.WithCancel(context.Background())
	q.dropped = metric.Counters(o.Metrics, "footfall_clicks_dropped_total",
		"Redirects whose click was not written to Kafka, by reason: queue_full, invalid, closing, panic.", "reason")
	metric.Zero(q.dropped, "queue_full", "invalid", "closing", "panic")
	metric.Measured(o.Metrics, "footfall_clicks_queued",
		"Clicks of redirects that wait for Kafka; links.queue is the most there can be, and half as many again of several clients.",
		func() int { return len(q.clicks) })
	for range workers {
		q.working.Go(q.work)
	}
	return q
}

// add queues a click of a client, or drops it. It never waits.
func (q *queue) add(c *models.Click, from netip.Addr) {
	if err := c.Validate(); err != nil {
		q.drop("invalid", err)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	customer := fair.Customer(from)
	switch {
	case q.closed:
		q.drop("closing", nil)
	case !q.waiting.Take(customer, 1):
		q.drop("queue_full", nil)
	default:
		q.clicks <- queued{c, customer} // never blocks: no more are in the channel than have a place
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
		q.waiting.Release(c.from, 1)
		switch err := q.write(c.click); {
		case errors.Is(err, errPanic):
			q.drop("panic", err)
		case err != nil:
			q.left.Add(1)
			q.drop("closing", nil)
		}
	}
}

// write retries until Kafka has the click or the queue is closed. It does not retry after a panic, which would happen again.
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
	case <-done: // the workers have dropped and counted the rest
	case <-time.After(closeGrace):
	}
	q.log.Warn("clicks of redirects are lost: Kafka did not take them before the producer stopped", "clicks", q.left.Load())
}
