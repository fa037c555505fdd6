package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"footfall/test/bench/subject"
	"footfall/test/bench/workload"
	"footfall/test/e2e/load"
	"footfall/test/e2e/process"
)

// withTopic runs do with an empty topic that is to have so many events of a workload.
func (b *bench) withTopic(ctx context.Context, w workload.Workload, n int, do func(task) error) (err error) {
	b.n++
	t := b.task
	t.Topic, t.Clicks, t.Events, t.Seconds = fmt.Sprintf("%s-%s-%d", b.name, w.Name, b.n), w.Clicks, n, b.seconds
	defer func() { err = errors.Join(err, t.DeleteTopics(context.WithoutCancel(ctx))) }()
	if err := t.EnsureTopics(ctx); err != nil {
		return err
	}
	return do(t)
}

// withFullTopic runs do with a topic that has them.
func (b *bench) withFullTopic(ctx context.Context, w workload.Workload, n int, do func(task) error) error {
	return b.withTopic(ctx, w, n, func(t task) error {
		for events := range w.Pieces(n) {
			if err := workload.Fill(ctx, t.Broker, t.Topic, events); err != nil {
				return err
			}
		}
		return do(t)
	})
}

// startBare starts a handler that answers and does nothing, in a process of its own.
func (b *bench) startBare(ctx context.Context) (bare *process.Process, address string, err error) {
	argument, err := json.Marshal(task{Kind: "bare"})
	if err != nil {
		return nil, "", err
	}
	bare, err = process.Start(process.Command{Name: "bare", Path: self(), Args: []string{"child", string(argument)}, Dir: b.Dir})
	if err != nil {
		return nil, "", err
	}
	if address, err = bare.Expect(ctx, subject.ProducerListening); err != nil {
		bare.Kill()
		return nil, "", err
	}
	return bare, address, nil
}

func (b *bench) measureProducer(ctx context.Context) error {
	return b.withTopic(ctx, workload.All[0], 0, func(t task) error {
		seconds := max(1, b.seconds/30)
		producer, address, err := b.StartProducer(ctx, t.Place)
		if err != nil {
			return err
		}
		defer func() { _ = producer.Stop(time.Minute) }()
		bare, bareAddress, err := b.startBare(ctx)
		if err != nil {
			return err
		}
		defer bare.Kill()
		single, many := requestBodies(5000, 1), requestBodies(20, batchEvents)
		t.Kind, t.Seconds = "writer", seconds
		rates, err := inTurns(
			func() (float64, error) {
				return post(ctx, bareAddress, "application/json", single, 1, singleConnections, seconds)
			},
			func() (float64, error) {
				return post(ctx, address, "application/json", single, 1, singleConnections, seconds)
			},
			func() (float64, error) {
				m, err := inChild(ctx, t)
				return m.rate(), err
			},
			func() (float64, error) {
				return post(ctx, address, "application/x-ndjson", many, batchEvents, batchConnections, seconds)
			},
		)
		if err != nil {
			return err
		}
		handler, events, writer, batches := rates[0], rates[1], rates[2], rates[3]
		b.report.section("Producer", fmt.Sprintf(`| what | events/s | of the bare one |
| --- | ---: | ---: |
| a bare net/http handler that answers 202, %d connections | %.0f | |
| single events, %d connections | %.0f | %.2f |
| a bare kafka-go writer, batches of %d, %d at once | %.0f | |
| NDJSON, batches of %d, %d connections | %.0f | %.2f |

The mean of %d rounds of %d s, in turns. The producer runs with its defaults, except for the caps on new names and visitors (limits.new_keys_per_minute, new_visitors_per_minute), which one sender would reach.`, singleConnections, handler, singleConnections, events, events/handler,
			batchEvents, batchConnections, writer, batchEvents, batchConnections, batches, batches/writer, producerRounds, seconds))
		b.report.reach("producer, single events / bare handler", "0.4", events/handler, events/handler >= 0.4)
		b.report.reach("producer, NDJSON / bare writer", "0.5", batches/writer, batches/writer >= 0.5)
		return nil
	})
}

// producerRounds is how often each side is measured.
const producerRounds = 4

// inTurns measures several sides in short rounds, to and fro, so that noise, and what one side leaves to the next, hits all
// alike. It returns the mean of each. A round before that is for Kafka's compiler and not counted.
func inTurns(sides ...func() (float64, error)) ([]float64, error) {
	means := make([]float64, len(sides))
	for round := range 1 + producerRounds {
		for i := range sides {
			if round%2 == 1 {
				i = len(sides) - 1 - i
			}
			rate, err := sides[i]()
			if err != nil {
				return nil, err
			}
			if round > 0 {
				means[i] += rate / producerRounds
			}
		}
	}
	return means, nil
}

func (b *bench) measureFreshness(ctx context.Context) error {
	return b.withTopic(ctx, workload.All[0], 0, func(t task) error {
		waits, rate, err := b.freshness(ctx, t, max(10, b.seconds/3))
		if err != nil {
			return err
		}
		p50, p99 := load.Percentile(waits, 50), load.Percentile(waits, 99)
		b.report.section("Freshness", fmt.Sprintf("At a steady %.0f events/s through the producer, one by one, a third of them of new visitors, from the"+
			" 202 until the count can be read: p50 %.2f s, p99 %.2f s, of %d probes.", rate, p50.Seconds(), p99.Seconds(), len(waits)))
		b.report.reach("freshness p99 at 1,000 events/s, in seconds", "≤ 2", p99.Seconds(), p99 <= 2*time.Second)
		return nil
	})
}

// measureGrowth works off one large backlog into nothing, looks at it on the way, and varies the LRU.
func (b *bench) measureGrowth(ctx context.Context) error {
	most := min(growth[len(growth)-1], 10*b.events)
	text := "Into a store that takes everything at once, so that the consumer's own work remains; cold clicks. A process that has just\n" +
		"started has an empty memory of visitors and no garbage to collect.\n\n" +
		"| backlog | events/s | processor time per event |\n| ---: | ---: | ---: |\n"
	err := b.withFullTopic(ctx, workload.All[2], most, func(t task) error {
		t.Kind, t.LRU = "null", 1_000_000
		m, err := inChild(ctx, t)
		if err != nil {
			return err
		}
		for _, n := range growth {
			name := fmt.Sprint(n)
			if n <= most && m.Values[name] > 0 {
				text += fmt.Sprintf("| %d | %.0f | %.1f µs |\n", n, m.Values[name], m.Values["cpu "+name])
			}
		}
		text += fmt.Sprintf("| %d | %.0f | %.1f µs |\n", m.Events, m.rate(), m.CPU*1e6/float64(m.Events))
		text += fmt.Sprintf("\nPeak memory, with an LRU of 1,000,000 visitors all taken: %s.", mib(m.Peak))
		b.report.reach("consumer memory, LRU of 1M full (cold clicks, no store), in MB", "≤ 300", float64(m.Peak)/1e6, m.Peak <= 300e6)
		return nil
	})
	if err != nil {
		return err
	}
	b.report.section("Growth", text)
	text = "| visitors remembered | lookups per click |\n| ---: | ---: |"
	err = b.withFullTopic(ctx, workload.All[0], b.events, func(t task) error {
		for _, size := range []int{0, 10_000, 1_000_000} {
			t.Kind, t.LRU, t.Suffix = "null", size, fmt.Sprint("-", size)
			m, err := inChild(ctx, t)
			if err != nil {
				return err
			}
			text += fmt.Sprintf("\n| %d | %.3f |", size, m.Values["lookups"])
		}
		return nil
	})
	b.report.section("The memory of visitors", text)
	return err
}
