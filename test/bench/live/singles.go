package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"footfall/test/bench/machine"
	"footfall/test/bench/workload"
	"footfall/test/e2e/process"
)

// SinglesGoals are what single events at SinglesRate may cost and how long their answers may take.
const (
	SinglesRate = 3500
	SinglesCost = 60.0 // µs of processor time of producer and Kafka, an event
	SinglesP99  = 10 * time.Millisecond

	singlesSettle = 2 * time.Second // at the begin of each turn, not measured
	singlesLength = 8 * time.Second
)

// singlesLoad is how single events come. In a closed loop each connection sends its next event when the last one was answered.
type singlesLoad struct {
	what        string
	connections int
	rate        float64 // of an open loop; 0: a closed loop
}

var singlesLoads = []singlesLoad{
	{"3,500/s", 64, SinglesRate},
	{"500/s", 64, 500},
	{"20/s", 1, 20},
	{"closed loop", 1, 0},
	{"closed loop", 4, 0},
	{"closed loop", 64, 0},
}

// singlesOutcome is what came of a load; of several turns it has the sums.
type singlesOutcome struct {
	seconds, producer, kafka float64 // the latter two of processor time
	took                     []time.Duration
}

func (o singlesOutcome) plus(p singlesOutcome) singlesOutcome {
	return singlesOutcome{o.seconds + p.seconds, o.producer + p.producer, o.kafka + p.kafka, append(o.took, p.took...)}
}

// each is the processor time of an event in µs.
func (o singlesOutcome) each(cpu float64) float64 { return cpu * 1e6 / max(1, float64(len(o.took))) }

// p is a percentile of how long the answers took.
func (o singlesOutcome) p(n int) time.Duration {
	if len(o.took) == 0 {
		return 0
	}
	slices.Sort(o.took)
	return o.took[len(o.took)*n/100]
}

// Door is a process that takes events, and its address.
type Door struct {
	Process *process.Process
	Address string
}

// Singles measures what single events cost producer and Kafka, and how long their answers take, at rates below what a producer can do. The
// sides take turns with bare, which answers and does nothing, to and fro. It returns a chapter of the report, and for the last side the cost in µs of an event at SinglesRate and the
// p99 of its answer.
func Singles(ctx context.Context, servers Servers, bare Door, sides ...Side) (text string, cost float64, p99 time.Duration, err error) {
	doors, names := []Door{bare}, []string{"bare handler"}
	for _, s := range sides {
		defer func() { err = errors.Join(err, s.DeleteTopics(context.WithoutCancel(ctx))) }()
		if err := s.EnsureTopics(ctx); err != nil {
			return "", 0, 0, err
		}
		producer, address, err := s.StartProducer(ctx, s.Place)
		if err != nil {
			return "", 0, 0, err
		}
		defer func() { _ = producer.Stop(time.Minute) }()
		doors, names = append(doors, Door{producer, address}), append(names, s.Name)
	}
	text = fmt.Sprintf("Visits, one a request, at a rate below what the producer can do: processor time an event, and how long an answer takes from when the event was"+
		" due (in a closed loop: was sent). Two turns of %s for each line. Kafka is charged with all that it did meanwhile. The bare handler"+
		" answers and does nothing: what HTTP costs at that rate, and Kafka that has nothing to do.\n\n"+
		"| load | connections | side | events/s | producer, µs | Kafka, µs | together, µs | answered, p50 | p99 |\n| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |", singlesLength)
	for n, load := range singlesLoads {
		sums := make([]singlesOutcome, len(doors))
		for turn := range 2 * len(doors) {
			i := min(turn, 2*len(doors)-1-turn) // bare, old, new, new, old, bare
			out, err := load.measure(ctx, doors[i], servers.Kafka)
			if err != nil {
				return "", 0, 0, fmt.Errorf("%s: %w", load.what, err)
			}
			sums[i] = sums[i].plus(out)
		}
		for i, o := range sums {
			text += fmt.Sprintf("\n| %s | %d | %s |%s", load.what, load.connections, names[i], o)
		}
		if last := sums[len(sums)-1]; n == 0 {
			cost, p99 = last.each(last.producer+last.kafka), last.p(99)
		}
	}
	return text, cost, p99, nil
}

// String is the end of a row of the table.
func (o singlesOutcome) String() string {
	return fmt.Sprintf(" %.0f | %.1f | %.1f | **%.1f** | %.1f ms | %.1f ms |", float64(len(o.took))/o.seconds,
		o.each(o.producer), o.each(o.kafka), o.each(o.producer+o.kafka), 1e3*o.p(50).Seconds(), 1e3*o.p(99).Seconds())
}

// measure sends a load to a producer.
func (l singlesLoad) measure(ctx context.Context, to Door, kafka int) (out singlesOutcome, err error) {
	traffic := workload.NewLiveVisits(workload.Seed)
	rate := l.rate
	if rate == 0 {
		rate = 50_000 // more than a producer takes
	}
	traffic.Adjust(rate)
	moments := traffic.Next(singlesSettle + singlesLength)
	send := newSender(Form{each: 1}, to.Address, traffic, moments)
	if send.closed = l.rate == 0; send.closed {
		for i := range moments {
			moments[i].Due = 0
		}
	}
	sending, stop := context.WithCancel(ctx)
	defer stop()
	sent := make(chan struct{})
	send.begin = time.Now()
	go func() { defer close(sent); send.run(sending, l.connections) }()
	var at [2]singlesMoment
	for i, wait := range []time.Duration{singlesSettle, singlesLength} {
		if err := pause(ctx, wait); err != nil {
			return out, err
		}
		if at[i], err = momentOf(send, to.Process.PID(), kafka); err != nil {
			return out, err
		}
	}
	stop()
	<-sent
	if why := send.failures(); why != "" {
		return out, fmt.Errorf("events were not taken%s", why)
	}
	out = singlesOutcome{seconds: at[1].when.Sub(at[0].when).Seconds(), producer: at[1].producer - at[0].producer, kafka: at[1].kafka - at[0].kafka}
	all := int64(len(send.took))
	for _, t := range send.took[min(at[0].request, all):min(at[1].request, all)] {
		if t != unsent {
			out.took = append(out.took, t)
		}
	}
	return out, nil
}

// singlesMoment is how far everything is.
type singlesMoment struct {
	when            time.Time
	request         int64
	producer, kafka float64 // seconds of processor time
}

func momentOf(send *sender, producer, kafka int) (m singlesMoment, err error) {
	m.when, m.request = time.Now(), send.next.Load()
	if m.producer, _, err = machine.Cost(producer); err != nil {
		return m, err
	}
	if m.kafka, _, err = machine.Cost(kafka); err != nil {
		return m, fmt.Errorf("reading the processor time of Kafka, which must run on this machine: %w", err)
	}
	return m, nil
}
