package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/models"
	"footfall/test/bench/subject"
	"footfall/test/bench/workload"
	"footfall/test/e2e/process"
)

// side is one footfall at work.
type side struct {
	Side
	form    Form
	options *Options
	servers Servers

	traffic workload.Live
	search  search
	steps   []outcome
	lags    []string // every ten seconds while a rate is held for long
	tally   tally

	kafka    *kafka.Client
	producer *process.Process
	address  string // of the producer
	consumer *subject.Replica
	undo     []func(context.Context) error // last first
	ids      int                           // of events that were put onto the topic directly
}

// start makes topics and tables, and starts a producer and a consumer.
func (s *side) start(ctx context.Context) (err error) {
	s.kafka = &kafka.Client{Addr: kafka.TCP(s.Broker), Timeout: 10 * time.Second}
	s.tally = newTally(s.form)
	s.undo = append(s.undo, s.DeleteTopics)
	if err := s.EnsureTopics(ctx); err != nil {
		return err
	}
	s.undo = append(s.undo, func(ctx context.Context) error { return s.Drop(ctx, s.servers.Session) })
	if err := s.Migrate(ctx, s.Place); err != nil {
		return err
	}
	if s.consumer, err = s.StartConsumer(ctx, s.Place, "live"+s.Suffix, 0); err != nil {
		return err
	}
	s.undo = append(s.undo, func(context.Context) error { return s.consumer.Stop(time.Minute) })
	if s.producer, s.address, err = s.StartProducer(ctx, s.Place); err != nil {
		return err
	}
	s.undo = append(s.undo, func(context.Context) error { return s.producer.Stop(time.Minute) })
	return subject.Started(ctx, s.consumer)
}

func (s *side) stop(ctx context.Context) (err error) {
	for i := len(s.undo) - 1; i >= 0; i-- {
		err = errors.Join(err, s.undo[i](ctx))
	}
	return err
}

// hold tries the rate that was asked for, once and for long.
func (s *side) hold(ctx context.Context) error {
	next := time.Now()
	out, err := s.try(ctx, s.options.rate, s.options.hold, func(now sample) {
		if now.at.After(next) {
			fmt.Fprintf(os.Stderr, "%s: lag %.0f events, counted %.0f\n", s.Name, now.lag(), now.counted)
			s.lags = append(s.lags, fmt.Sprintf("%.0f", now.lag()))
			next = now.at.Add(10 * time.Second)
		}
	})
	if err != nil {
		return err
	}
	s.done(out)
	return nil
}

// done notes what came of a step.
func (s *side) done(out outcome) {
	s.search.note(out.rate, out.held())
	s.steps = append(s.steps, out)
	fmt.Fprintln(os.Stderr, s.form.Name, s.Name, out)
}

// try sends a rate for a while, waits until all is counted, and checks the counts.
func (s *side) try(ctx context.Context, rate float64, length time.Duration, watch func(sample)) (out outcome, err error) {
	if err := s.warm(ctx, rate); err != nil {
		return out, fmt.Errorf("warming up: %w", err)
	}
	if out, err = s.measure(ctx, rate, length, watch); err != nil {
		return out, err
	}
	if out.drained, err = s.drain(ctx); err != nil {
		return out, err
	}
	return out, s.verify(ctx)
}

// warm puts onto the topic what has to be counted before traffic of this rate is in its stride, and waits until it is.
func (s *side) warm(ctx context.Context, rate float64) error {
	now := time.Now()
	for piece := range slices.Chunk(s.traffic.Adjust(rate), 100_000) { // at high rates there are millions
		events := make([]models.Event, len(piece))
		for i, m := range piece {
			s.ids++
			events[i] = s.traffic.Event(m, fmt.Sprintf("before-%d", s.ids), now)
			s.tally.add(m, true)
		}
		if err := workload.Fill(ctx, s.Broker, s.Topic, events); err != nil {
			return err
		}
	}
	_, err := s.drain(ctx)
	return err
}

// stuck is how long a consumer may count nothing.
const stuck = time.Minute

// drain waits until the consumer has counted everything. It returns how many events it counted per second meanwhile.
func (s *side) drain(ctx context.Context) (float64, error) {
	first, err := s.look(ctx)
	if err != nil {
		return 0, err
	}
	last := first
	for now := first; now.lag() > 0; {
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return 0, err
		}
		if now, err = s.look(ctx); err != nil {
			return 0, err
		}
		if now.counted > last.counted {
			last = now
		} else if now.at.Sub(last.at) > stuck {
			return 0, fmt.Errorf("the consumer has counted %.0f of %.0f events, and no more for %s\n%s", now.counted, now.produced, stuck, s.consumer.Tail(20))
		}
	}
	return rateOf(first, last, func(s sample) float64 { return s.counted }), nil
}

// rateOf is how much came per second between two samples; 0 if there is no time between them.
func rateOf(a, b sample, of func(sample) float64) float64 {
	if d := b.at.Sub(a.at).Seconds(); d > 0 {
		return (of(b) - of(a)) / d
	}
	return 0
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
