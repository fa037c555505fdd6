package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"footfall/test/bench/machine"
)

const (
	every     = 250 * time.Millisecond // between samples
	inTime    = time.Second            // an event is accepted in time
	lagGrowth = 2 * time.Second        // of the rate, that the lag may grow by in a step
)

// workers are those whose processor time is told.
var workers = []string{"producer", "Kafka", "consumer", "Cassandra", "senders"}

// outcome is what came of a rate.
type outcome struct {
	rate             float64
	seconds          float64 // that were measured
	due              float64 // events
	accepted         float64 // of them in time
	answer           time.Duration
	lagBegin, lagEnd float64 // the most in the first quarter and in the last
	counted, drained float64 // per second: while events came, and afterwards
	p50, p99         time.Duration
	most             time.Duration      // that p99 may be
	cpu              map[string]float64 // seconds per 100,000 events: counted ones for consumer and Cassandra, produced ones for the others
	per              map[string]float64 // what the consumer did per counted event
	late             bool               // the lag reached most of the rate: the step was ended
	peak             int64              // memory of the consumer
	failures         string
}

// why tells why a rate was not held; empty: it was.
func (o outcome) why() string {
	switch {
	case o.due == 0 || o.accepted < 0.99*o.due:
		return fmt.Sprintf("%.1f %% of the events were accepted within %s%s", 100*o.accepted/max(1, o.due), inTime, o.failures)
	case o.lagEnd > o.lagBegin+lagGrowth.Seconds()*o.rate:
		return fmt.Sprintf("the lag grew from up to %.0f to %.0f", o.lagBegin, o.lagEnd)
	case o.late || o.p99 > o.most:
		return fmt.Sprintf("of the events 1 %% were counted later than %s", o.most)
	}
	return ""
}

func (o outcome) held() bool { return o.why() == "" }

func (o outcome) String() string {
	verdict := "held"
	if !o.held() {
		verdict = "not held: " + o.why()
	}
	var cpu []string
	for _, who := range workers {
		cpu = append(cpu, fmt.Sprintf("%s %.1f", who, o.cpu[who]))
	}
	return fmt.Sprintf("%.0f/s %s; counted %.0f/s, then %.0f/s; lag %.0f to %.0f, age p50 %.2f s p99 %.2f s, answers p99 %s; CPU s per 100k: %s",
		o.rate, verdict, o.counted, o.drained, o.lagBegin, o.lagEnd, o.p50.Seconds(), o.p99.Seconds(), o.answer.Round(time.Millisecond), strings.Join(cpu, ", "))
}

// measure sends a rate and looks at it.
func (s *side) measure(ctx context.Context, rate float64, length time.Duration, watch func(sample)) (out outcome, err error) {
	settle := s.options.settle
	send := newSender(s.form, s.address, s.traffic, s.traffic.Next(settle+length))
	sending, stop := context.WithCancel(ctx)
	sent := make(chan struct{})
	send.begin = time.Now()
	go func() {
		defer close(sent)
		send.run(sending, s.options.connections)
	}()
	defer func() { stop(); <-sent }()
	begin, end := send.begin.Add(settle), send.begin.Add(settle+length)
	var samples []sample
	first, late := -1, false // sample of what is measured; events will be counted too late
	for next := send.begin; ; next = next.Add(every) {
		if err := pause(ctx, time.Until(next)); err != nil {
			return out, err
		}
		now, err := s.look(ctx)
		if err != nil {
			return out, err
		}
		samples = append(samples, now)
		if watch != nil {
			watch(now)
		}
		if first < 0 && !now.at.Before(begin) {
			first = len(samples) - 1
		}
		late = first >= 0 && now.lag() > s.options.age.Seconds()*rate
		if !now.at.Before(end) || late {
			break
		}
	}
	stop()
	<-sent
	out = judge(send, rate, samples, first)
	out.most, out.late = s.options.age, late
	out.failures = send.failures()
	s.note(send)
	_, out.peak, err = machine.Cost(s.consumer.PID())
	return out, err
}

// judge computes what came of a step from the samples; first is that with which the measuring began.
func judge(send *sender, rate float64, samples []sample, first int) outcome {
	a, b := samples[first], samples[len(samples)-1]
	list := ages(samples, a.at)
	out := outcome{
		rate: rate, seconds: b.at.Sub(a.at).Seconds(),
		counted: rateOf(a, b, func(s sample) float64 { return s.counted }),
		p50:     percentile(list, 0.5), p99: percentile(list, 0.99), cpu: map[string]float64{}, per: map[string]float64{},
	}
	out.lagBegin, out.lagEnd = lags(samples[first:])
	out.due, out.accepted, out.answer = send.between(a.at.Sub(send.begin), b.at.Sub(send.begin)-inTime)
	counted, produced := max(1, b.counted-a.counted), max(1, b.produced-a.produced)
	for who := range b.cpu {
		n := produced
		if who == "consumer" || who == "Cassandra" {
			n = counted
		}
		out.cpu[who] = (b.cpu[who] - a.cpu[who]) * 1e5 / n
	}
	for _, what := range []string{"requests", "statements", "keys", "lookups", "ledger"} {
		out.per[what] = (b.metrics[what] - a.metrics[what]) / counted
	}
	return out
}

// between tells of the events that were due in a time how many there were, how many were accepted in time, and how long 99 % of the accepted
// ones took.
func (s *sender) between(from, to time.Duration) (due, accepted float64, p99 time.Duration) {
	var took []time.Duration
	for i, t := range s.took {
		if s.due(i) < from || s.due(i) >= to {
			continue
		}
		n := float64(len(s.of(i)))
		due += n
		if t > 0 {
			took = append(took, t)
		}
		if t > 0 && t <= inTime {
			accepted += n
		}
	}
	if len(took) > 0 {
		slices.Sort(took)
		p99 = took[len(took)*99/100]
	}
	return due, accepted, p99
}

// failures tells what went wrong with requests.
func (s *sender) failures() (text string) {
	s.failed.Range(func(why, n any) bool {
		text += fmt.Sprintf("; %d times: %s", n.(*atomic.Int64).Load(), strings.TrimSpace(why.(string)))
		return true
	})
	return text
}
