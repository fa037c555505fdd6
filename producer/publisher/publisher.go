package publisher

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"

	"footfall/internal/fair"
	"footfall/internal/kafka/dial"
	"footfall/internal/metric"
	"footfall/models"
	"footfall/producer/admission"
	"footfall/producer/answer"
)

const (
	// metadataTTL is how often the transport asks Kafka for partition leaders, so that a change of leader is noticed well
	// within kafka.timeout.
	metadataTTL = 2 * time.Second

	// closeTimeout is how long Close waits for events whose senders have already been answered with 503.
	closeTimeout = time.Second
)

// Options configure a Publisher. All must be set.
type Options struct {
	Topics  []string              // base names: the publisher writes to the newest generation of each
	Timeout time.Duration         // how long a caller waits for Kafka, and how long an event is retried
	Slots   int                   // how many events one tenant may have in flight; several tenants have half as many more
	Grant   *fair.Shared          // what the holder of a key may send to one partition; nil: no limit
	Metrics prometheus.Registerer // must not have another publisher's metrics
	Log     *slog.Logger
}

// Publisher writes events to Kafka. It is safe for concurrent use.
type Publisher struct {
	via       dial.Kafka
	addr      net.Addr
	transport atomic.Pointer[kafka.Transport] // replaced when a topic goes on as a new generation
	timeout   time.Duration
	patience  time.Duration
	linger    time.Duration
	metrics   *metrics
	log       *slog.Logger
	life      context.Context // of requests to Kafka; it ends with Close
	end       context.CancelFunc
	followMu  sync.Mutex // held by whoever switches to a newer generation

	state
}

// Delivery is the events of one Submit.
type Delivery struct {
	of       admission.Tenant
	own      []fair.Charge                 // what its client has for itself with a page's key
	share    *fair.Share[admission.Tenant] // of the slots
	since    time.Time
	outcomes []error // errUnderWay until the outcome is known
	left     int     // how many are still under way
	failed   bool    // at least one event failed
	done     chan struct{}
}

var errUnderWay, errClosed = errors.New("under way"), errors.New("the publisher is closed")

// Open connects to Kafka and reads how many partitions the topics have. It returns an error if a topic is missing, or if Kafka
// does not answer before ctx ends.
func Open(ctx context.Context, via dial.Kafka, o Options) (*Publisher, error) {
	p := &Publisher{
		via: via, addr: via.Addr(), timeout: o.Timeout, patience: patience, linger: linger, log: o.Log, state: newState(o.Slots, o.Grant),
	}
	for _, base := range o.Topics {
		newest, err := newestGeneration(ctx, via, base)
		if err != nil {
			return nil, err
		}
		p.openGeneration(base, newest)
	}
	p.metrics = newMetrics(o.Metrics, o.Topics) // now that nothing can fail any more: whoever tries again registers them once
	p.transport.Store(p.connect())
	p.life, p.end = context.WithCancel(context.WithoutCancel(ctx))
	_ = p.findLeaders(ctx) // the first call waits for Kafka; later ones answer at once, from the transport's memory
	return p, nil
}

// Publish writes events to the newest generation of a topic and returns the outcome of each: nil when all in-sync replicas
// have it, else an *answer.Refusal. It waits until kafka.timeout has passed or ctx ends. After kafka_unavailable an event may
// still reach Kafka, because an acknowledgement can be late or lost.
func (p *Publisher) Publish(ctx context.Context, of admission.Tenant, base string, events []models.Event) []error {
	return p.Await(ctx, p.Submit(of, base, events))
}

// Submit is the first half of Publish. It does not wait for Kafka.
func (p *Publisher) Submit(of admission.Tenant, base string, events []models.Event) *Delivery {
	d := &Delivery{of: of, since: time.Now(), outcomes: make([]error, len(events)), done: make(chan struct{})}
	if of.Page {
		d.own = fair.Charges(p.seed, of.Network.Addr(), "")
	}
	text := encode(events, d.outcomes)
	p.mu.Lock()
	d.share = p.slots.Of(of.Account())
	p.enqueue(base, d, text)
	if d.left == 0 { // no event will be settled later, so nobody else closes it
		close(d.done)
	}
	p.dispatch()
	p.mu.Unlock()
	text.reuse()
	return d
}

// Await is the second half of Publish.
func (p *Publisher) Await(ctx context.Context, d *Delivery) []error {
	timeout := time.NewTimer(p.timeout)
	defer timeout.Stop()
	select {
	case <-d.done:
		return d.outcomes
	case <-timeout.C:
		return p.abandon(d, context.DeadlineExceeded)
	case <-ctx.Done():
		return p.abandon(d, ctx.Err())
	}
}

// abandon returns the outcomes for a caller that waits no longer. Events that were acknowledged in time keep their outcome.
func (p *Publisher) abandon(d *Delivery, why error) []error {
	p.mu.Lock()
	defer p.mu.Unlock()
	outcomes := slices.Clone(d.outcomes) // settle still writes to the original
	for i, err := range outcomes {
		if errors.Is(err, errUnderWay) {
			outcomes[i] = unavailable(why)
		}
	}
	return outcomes
}

// Topics are the generations that events are written to now.
func (p *Publisher) Topics() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.currentTopics()
}

// Close waits up to closeTimeout for events in flight, and then ends all requests. Call it when no caller waits any more: the
// events that are left then are those that were answered with 503, and they are not worth a longer wait.
func (p *Publisher) Close() {
	empty := make(chan struct{})
	p.mu.Lock()
	if p.slots.Used() == 0 {
		close(empty)
	} else {
		p.empty = empty
	}
	p.mu.Unlock()
	select {
	case <-empty:
	case <-time.After(closeTimeout):
		p.mu.Lock()
		p.log.Warn("closing with events that are not written to Kafka; their senders were answered with 503", "events", p.slots.Used())
		p.mu.Unlock()
	}
	p.end()
	p.transport.Load().CloseIdleConnections()
}

func unavailable(cause error) error {
	return &answer.Refusal{
		Reason: answer.KafkaUnavailable, Detail: "Kafka did not acknowledge the event in time; send it again with this id", Cause: cause,
	}
}

// metrics are what a Publisher measures.
type metrics struct {
	events   *prometheus.CounterVec
	inFlight prometheus.Gauge
	write    prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, topics []string) *metrics {
	m := &metrics{
		events: metric.Counters(reg, "footfall_producer_events_total",
			"Events that Kafka has acknowledged, by topic; also those whose sender had already been answered 503.", "topic"),
		inFlight: metric.Gauge(reg, "footfall_producer_in_flight",
			"Events being written to Kafka; http.max_in_flight is the most there can be of one tenant, and half as many more of several."),
		write: metric.Histogram(reg, "footfall_producer_kafka_write_seconds",
			"Time until Kafka has acknowledged all events of a request, once per request, from when they were ready to be sent.",
			.005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10),
	}
	metric.Zero(m.events, topics...)
	return m
}
