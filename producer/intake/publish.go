package intake

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/configs"
	"footfall/models"
	"footfall/producer/dial"
)

const (
	// linger is how long an event waits for others to share a request with. It is a price on every single event.
	linger = 2 * time.Millisecond

	// metadataTTL is how often the writer looks where the leaders are, so that a change of leader is noticed well within
	// kafka.timeout.
	metadataTTL = 2 * time.Second

	firstBackoff, maxBackoff = 100 * time.Millisecond, time.Second

	// farewell is how long a closing door waits for events that it has already given up.
	farewell = time.Second
)

// publisher writes events to Kafka. It is safe for concurrent use.
//
// The writer underneath has a queue without bound, and what is in it cannot be taken back. So an event holds one of the
// slots until the writer is done with it, not only until its sender was answered: while Kafka is away the memory in use
// stays bounded, and the excess is refused at once.
type publisher struct {
	writer    *kafka.Writer
	transport *kafka.Transport
	timeout   time.Duration
	slots     chan struct{}
	metrics   *metrics
	log       *slog.Logger
	failing   atomic.Bool // the last batch failed; to log the change and not every event
}

// delivery is one event under way.
type delivery struct {
	since time.Time
	done  chan error // gets the outcome; has room for it, so that nobody needs to listen any more
}

// openPublisher connects to Kafka and learns how many partitions the topics have.
func openPublisher(ctx context.Context, via dial.Kafka, cfg configs.Producer, m *metrics, log *slog.Logger) (*publisher, error) {
	p := &publisher{
		timeout:   cfg.Kafka.Timeout,
		slots:     make(chan struct{}, cfg.HTTP.MaxInFlight),
		metrics:   m,
		log:       log,
		transport: via.Transport(),
	}
	p.transport.ClientID, p.transport.DialTimeout, p.transport.MetadataTTL = "footfall-producer", cfg.Kafka.Timeout, metadataTTL
	p.transport.MetadataTopics = []string{cfg.Kafka.Topics.Clicks, cfg.Kafka.Topics.Visits}
	spread, err := fixPartitions(ctx, via, p.transport.MetadataTopics)
	if err != nil {
		return nil, err
	}
	p.writer = &kafka.Writer{
		Addr:            via.Addr(),
		Transport:       p.transport,
		Balancer:        spread,
		RequiredAcks:    kafka.RequireAll,
		BatchTimeout:    linger,
		WriteTimeout:    cfg.Kafka.Timeout,
		MaxAttempts:     attemptsWithin(cfg.Kafka.Timeout),
		WriteBackoffMin: firstBackoff,
		WriteBackoffMax: maxBackoff,
		Async:           true, // the outcome comes through settle
		Completion:      p.settle,
	}
	return p, nil
}

// publish writes events and returns what became of each: nil when Kafka has acknowledged it. It waits for kafka.timeout, or
// until ctx ends. After any other outcome than overloaded the event may still get there: an acknowledgement can be late or
// lost.
func (p *publisher) publish(ctx context.Context, topic string, events []models.Event) []error {
	outcomes := make([]error, len(events))
	deliveries := make([]*delivery, len(events)) // nil for those that are not under way
	messages := make([]kafka.Message, 0, len(events))
	now := time.Now()
	for i, event := range events {
		value, err := json.Marshal(event)
		if err != nil {
			outcomes[i] = fmt.Errorf("encoding the event: %w", err)
			continue
		}
		if !p.reserve() {
			outcomes[i] = &refusal{reason: overloaded, detail: "too many events are being written; try again"}
			continue
		}
		deliveries[i] = &delivery{since: now, done: make(chan error, 1)}
		// The record's own time stays the moment of writing: Kafka deletes by it, and an event may be years old.
		messages = append(messages, kafka.Message{Topic: topic, Key: []byte(event.KafkaKey()), Value: value, WriterData: deliveries[i]})
	}
	if len(messages) == 0 {
		return outcomes
	}

	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	notQueued := p.writer.WriteMessages(ctx, messages...) // all or none of them, so that settle will see all or none
	if notQueued != nil {
		p.note(notQueued)
	}
	for i, d := range deliveries {
		switch {
		case d == nil:
		case notQueued != nil:
			p.release()
			outcomes[i] = unavailable(notQueued)
		default:
			outcomes[i] = d.wait(ctx)
		}
	}
	return outcomes
}

// wait returns nil when the event is acknowledged.
func (d *delivery) wait(ctx context.Context) error {
	var err error
	select {
	case err = <-d.done:
	case <-ctx.Done():
		select { // what was acknowledged in time counts, even if others of the batch were not
		case err = <-d.done:
		default:
			err = ctx.Err()
		}
	}
	if err != nil {
		return unavailable(err)
	}
	return nil
}

// settle is called by the writer when a batch was acknowledged or given up.
func (p *publisher) settle(batch []kafka.Message, err error) {
	p.note(err)
	for _, m := range batch {
		d := m.WriterData.(*delivery)
		if err == nil {
			p.metrics.events.WithLabelValues(m.Topic).Inc()
			p.metrics.write.Observe(time.Since(d.since).Seconds())
		}
		p.release()
		d.done <- err
	}
}

// reserve takes a slot for an event, if there is one.
func (p *publisher) reserve() bool {
	select {
	case p.slots <- struct{}{}:
		p.metrics.inFlight.Inc()
		return true
	default:
		return false
	}
}

func (p *publisher) release() {
	<-p.slots
	p.metrics.inFlight.Dec()
}

// note logs when Kafka goes away and when it is back.
func (p *publisher) note(err error) {
	switch failed := err != nil; {
	case failed && !p.failing.Swap(true):
		p.log.Warn("Kafka does not take events; answering 503 until it does", "error", err)
	case !failed && p.failing.Swap(false):
		p.log.Info("Kafka takes events again")
	}
}

// close writes what is still queued. Every sender has been answered by then, so what is left are events that were
// answered with 503, and they are not worth a long wait.
func (p *publisher) close() {
	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		_ = p.writer.Close() // always nil
	}()
	select {
	case <-flushed:
	case <-time.After(farewell):
		p.log.Warn("leaving events unwritten that were answered with 503", "events", len(p.slots))
	}
	p.transport.CloseIdleConnections()
}

func unavailable(cause error) error {
	return &refusal{reason: kafkaUnavailable, detail: "Kafka did not acknowledge the event in time; send it again with this id", cause: cause}
}

// attemptsWithin counts the attempts that fit into d with the writer's backoff (100 ms times the square of the attempt),
// so that a batch is tried for about as long as its senders wait.
func attemptsWithin(d time.Duration) int {
	n := 1
	for {
		if d -= min(time.Duration(n*n)*firstBackoff, maxBackoff); d < 0 {
			return n
		}
		n++
	}
}
