package intake

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/configs"
	"footfall/internal/kafka/dial"
	"footfall/models"
	"footfall/producer/answer"
)

const (
	// metadataTTL is how often the transport looks where the leaders are, so that a change of leader is noticed well within
	// kafka.timeout.
	metadataTTL = 2 * time.Second

	// farewell is how long a closing door waits for events that it has already given up.
	farewell = time.Second
)

// publisher writes events to Kafka. It is safe for concurrent use.
//
// Nobody waits for company: an event is sent at once if its broker has no request under way, and else with all others that
// have come by the time that request is answered, or takes long, in one request for all partitions of the broker. So a lone event is fast,
// and the more come the fewer requests each of them costs. lane.go keeps what waits for a partition in order, send.go makes
// the requests, group.go writes their bytes.
//
// An event holds one of the slots until Kafka has it or it is given up for good, not only until its sender was answered:
// while Kafka is away the memory in use stays bounded, and the excess is refused at once.
type publisher struct {
	via       dial.Kafka
	addr      net.Addr
	transport atomic.Pointer[kafka.Transport] // another one when a topic goes on as a new generation
	timeout   time.Duration
	patience  time.Duration
	slots     int // how many events there may be at once; see roomFor
	metrics   *metrics
	log       *slog.Logger
	life      context.Context // of requests to Kafka
	end       context.CancelFunc
	following sync.Mutex // taken before mu, by whoever finds a newer generation

	mu      sync.Mutex           // of all below, of lanes, groups and deliveries
	current map[string]string    // by topic as it is configured: the generation of it that is written to
	sealed  map[string][]suspect // by topic as it is configured: what waits for a newer generation to be found
	added   map[string]bool      // topics that were given partitions since they were opened, and that was logged
	spread  spread               // by generation
	lanes   map[string][]*lane   // by generation
	ready   []*lane              // that have something to send and may send it
	brokers map[int32]*broker
	nobody  broker    // leads partitions that have no leader: all that is sent to it fails
	looked  time.Time // when the leaders were last looked up
	used    int       // slots
	shares  map[tenant]*part
	failing bool          // the last group failed; to log the change and not every event
	empty   chan struct{} // closed when used is 0; nil unless somebody waits for it
}

// delivery is the events of one call under way.
type delivery struct {
	share    *part // of the slots
	since    time.Time
	outcomes []error // errUnderWay until it is known
	left     int     // of which it is not
	failed   bool    // one of them
	done     chan struct{}
}

var errUnderWay, errClosed = errors.New("under way"), errors.New("the door is closed")

// openPublisher connects to Kafka and learns how many partitions the topics have.
func openPublisher(ctx context.Context, via dial.Kafka, cfg configs.Producer, m *metrics, log *slog.Logger) (*publisher, error) {
	p := &publisher{
		via: via, addr: via.Addr(), timeout: cfg.Kafka.Timeout, patience: patience, slots: cfg.HTTP.MaxInFlight,
		metrics: m, log: log, current: map[string]string{}, sealed: map[string][]suspect{}, added: map[string]bool{}, spread: spread{},
		lanes: map[string][]*lane{}, brokers: map[int32]*broker{}, shares: map[tenant]*part{},
	}
	for _, base := range []string{cfg.Kafka.Topics.Clicks, cfg.Kafka.Topics.Visits} {
		newest, err := newest(ctx, via, base)
		if err != nil {
			return nil, err
		}
		p.open(base, newest)
	}
	p.transport.Store(p.connect())
	p.life, p.end = context.WithCancel(context.WithoutCancel(ctx))
	_ = p.look(ctx) // from now on it answers at once, from what the transport remembers
	return p, nil
}

// publish writes events to the newest generation of a topic and returns what became of each: nil when Kafka has acknowledged it. It waits for kafka.timeout, or
// until ctx ends. After kafka_unavailable the event may still get there: an acknowledgement can be late or lost.
func (p *publisher) publish(ctx context.Context, of tenant, base string, events []models.Event) []error {
	return p.await(ctx, p.submit(of, base, events))
}

// submit puts events on their way and waits for nothing.
func (p *publisher) submit(of tenant, base string, events []models.Event) *delivery {
	d := &delivery{since: time.Now(), outcomes: make([]error, len(events)), done: make(chan struct{})}
	text := encode(events, d.outcomes)
	p.mu.Lock()
	d.share = p.partOf(of)
	p.enter(base, d, text)
	if d.left == 0 { // nobody else will
		close(d.done)
	}
	p.flush()
	p.mu.Unlock()
	text.reuse()
	return d
}

// await is the second half of publish.
func (p *publisher) await(ctx context.Context, d *delivery) []error {
	enough := time.NewTimer(p.timeout)
	defer enough.Stop()
	select {
	case <-d.done:
		return d.outcomes
	case <-enough.C:
		return p.leave(d, context.DeadlineExceeded)
	case <-ctx.Done():
		return p.leave(d, ctx.Err())
	}
}

// enter puts events into the lanes of their partitions, as many as there are slots for. The caller holds mu.
func (p *publisher) enter(base string, d *delivery, text *encoded) {
	before, closed, lanes := p.used, p.life.Err() != nil, p.lanes[p.current[base]]
	for i, e := range text.events {
		switch {
		case d.outcomes[i] != nil: // could not be encoded
		case closed:
			d.outcomes[i] = unavailable(errClosed)
		case !p.roomFor(d.share):
			d.outcomes[i] = &answer.Refusal{Reason: answer.Overloaded, Detail: "too many events are being written; try again"}
		default:
			key, value := text.of(e)
			p.put(lanes, key, value, entry{d, i})
			d.outcomes[i] = errUnderWay
			d.left++
			p.used++
			d.share.held++
		}
	}
	p.release(d.share, 0)
	p.metrics.inFlight.Add(float64(p.used - before))
}

// put adds an event to the lane of its partition, which is one of a topic's. The caller holds mu.
func (p *publisher) put(lanes []*lane, key, value []byte, whose entry) {
	l := lanes[p.spread.Balance(kafka.Message{Topic: lanes[0].topic, Key: key})]
	if l.add(key, value, whose, whose.of.since) {
		p.ready = append(p.ready, l)
	}
}

// leave is for a sender that has waited long enough. What was acknowledged in time counts, even if other events were not.
func (p *publisher) leave(d *delivery, why error) []error {
	p.mu.Lock()
	defer p.mu.Unlock()
	outcomes := slices.Clone(d.outcomes) // who is still under way writes into the other
	for i, err := range outcomes {
		if errors.Is(err, errUnderWay) {
			outcomes[i] = unavailable(why)
		}
	}
	return outcomes
}

// settle says what became of the events of a group. The caller holds mu.
func (p *publisher) settle(g *group, err error) {
	p.note(err)
	if err == nil {
		p.metrics.events.WithLabelValues(g.lane.topic).Add(float64(len(g.entries)))
	} else {
		err = unavailable(err)
	}
	for _, e := range g.entries {
		p.release(e.of.share, 1)
		e.of.outcomes[e.index] = err
		e.of.failed = e.of.failed || err != nil
		if e.of.left--; e.of.left > 0 {
			continue
		}
		if !e.of.failed {
			p.metrics.write.Observe(time.Since(e.of.since).Seconds())
		}
		close(e.of.done)
	}
	p.used -= len(g.entries)
	p.metrics.inFlight.Sub(float64(len(g.entries)))
	if p.used == 0 && p.empty != nil {
		close(p.empty)
		p.empty = nil
	}
	if err == nil { // else somebody may still be reading its bytes
		g.reuse()
	}
}

// note logs when Kafka goes away and when it is back. The caller holds mu.
func (p *publisher) note(err error) {
	switch failed := err != nil; {
	case failed == p.failing:
		return
	case failed:
		p.log.Warn("Kafka does not take events; answering 503 until it does", "error", err)
	default:
		p.log.Info("Kafka takes events again")
	}
	p.failing = err != nil
}

// close waits for what is still under way. Every sender has been answered by then, so what is left are events that were
// answered with 503, and they are not worth a long wait.
func (p *publisher) close() {
	empty := make(chan struct{})
	p.mu.Lock()
	if p.used == 0 {
		close(empty)
	} else {
		p.empty = empty
	}
	p.mu.Unlock()
	select {
	case <-empty:
	case <-time.After(farewell):
		p.mu.Lock()
		p.log.Warn("leaving events unwritten that were answered with 503", "events", p.used)
		p.mu.Unlock()
	}
	p.end()
	p.transport.Load().CloseIdleConnections()
}

func unavailable(cause error) error {
	return &answer.Refusal{Reason: answer.KafkaUnavailable, Detail: "Kafka did not acknowledge the event in time; send it again with this id", Cause: cause}
}
