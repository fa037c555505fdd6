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
// dropped and counted. Where it is full, half as many again are for clients that have less than an equal part: whoever follows
// links faster than Kafka takes clicks drops its own. It is safe for concurrent use.
type queue struct {
	o       *Options
	log     *slog.Logger
	dropped *prometheus.CounterVec

	clicks  chan queued
	working sync.WaitGroup
	stop    context.Context // ends when workers must give up
	giveUp  context.CancelFunc

	left atomic.Int64 // clicks that were given up

	mu      sync.Mutex // of all below; add holds it, so that nobody adds to a closed queue
	closed  bool
	waiting map[netip.Prefix]int // clicks by client
}

// queued is a click that waits, and whose it is: an IPv4 address or an IPv6 /48, of which one customer has every address.
type queued struct {
	click  *models.Click
	client netip.Prefix
}

func clientOf(ip netip.Addr) netip.Prefix {
	bits := 32
	if ip.Is6() {
		bits = 48
	}
	client, _ := ip.Prefix(bits) // none for no address
	return client
}

func newQueue(o Options) *queue {
	q := &queue{o: &o, log: o.Log, clicks: make(chan queued, o.Queue+(o.Queue+1)/2), waiting: map[netip.Prefix]int{}}
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
		Help: "Clicks of redirects that wait for Kafka; links.queue is the most there can be, and half as many again of several clients.",
	}, func() float64 { return float64(len(q.clicks)) })
	o.Metrics.MustRegister(q.dropped, waiting)
	for range workers {
		q.working.Go(q.work)
	}
	return q
}

// add takes a click of a client at an address, or drops it. It never waits.
func (q *queue) add(c *models.Click, from netip.Addr) {
	if err := c.Validate(); err != nil {
		q.drop("invalid", err)
		return
	}
	client := clientOf(from)
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		q.drop("closing", nil)
	case !q.roomFor(client):
		q.drop("queue_full", nil)
	default:
		q.waiting[client]++
		q.clicks <- queued{c, client} // there is room: others only take
	}
}

// roomFor tells whether a client may have one more click in the queue. The caller holds mu.
func (q *queue) roomFor(client netip.Prefix) bool {
	held := len(q.clicks)
	if held < q.o.Queue {
		return true
	}
	clients := len(q.waiting)
	if q.waiting[client] == 0 {
		clients++
	}
	return q.waiting[client] < min(max(1, q.o.Queue/clients), cap(q.clicks)-held)
}

// taken notes that a client's click does not wait any more.
func (q *queue) taken(client netip.Prefix) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting[client]--; q.waiting[client] == 0 {
		delete(q.waiting, client)
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
		q.taken(c.client)
		switch err := q.write(c.click); {
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
