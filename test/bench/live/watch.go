package live

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/test/bench/machine"
	"footfall/test/bench/subject"
	"footfall/test/bench/workload"
)

// sample is how far everything is at a moment.
type sample struct {
	at       time.Time
	produced float64 // events in the topic
	counted  float64
	metrics  map[string]float64 // of the consumer
	cpu      map[string]float64 // seconds, by who
}

func (s sample) lag() float64 { return s.produced - s.counted }

// look takes a sample. What was produced is asked first, so that the lag is rather too small than too large.
func (s *side) look(ctx context.Context) (now sample, err error) {
	now.at = time.Now()
	if now.produced, err = s.ends(ctx); err != nil {
		return now, err
	}
	if now.metrics, err = subject.Scrape(ctx, s.consumer); err != nil {
		return now, err
	}
	now.counted = now.metrics[`events{outcome="applied"}`]
	now.cpu = map[string]float64{}
	for who, pid := range map[string]int{
		"producer": s.producer.PID(), "Kafka": s.servers.Kafka, "consumer": s.consumer.PID(), "Cassandra": s.servers.Cassandra, "senders": os.Getpid(),
	} {
		if cpu, _, err := machine.Cost(pid); pid > 0 && err == nil {
			now.cpu[who] = cpu
		}
	}
	return now, nil
}

// ends adds up where the topic's partitions end.
func (s *side) ends(ctx context.Context) (sum float64, err error) {
	var requests []kafka.OffsetRequest
	for p := range workload.Partitions {
		requests = append(requests, kafka.LastOffsetOf(p))
	}
	answer, err := s.kafka.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{s.Topic: requests}})
	if err != nil {
		return 0, fmt.Errorf("asking where %s ends: %w", s.Topic, err)
	}
	for _, p := range answer.Topics[s.Topic] {
		if p.Error != nil {
			return 0, fmt.Errorf("asking where partition %d of %s ends: %w", p.Partition, s.Topic, p.Error)
		}
		sum += float64(p.LastOffset)
	}
	return sum, nil
}

// lags compares the begin and the end of what was measured: the most lag of the first quarter and of the last. A consumer that is behind counts
// in large chunks, so its lag goes up for seconds and falls at once: two moments would tell where in a chunk they are.
func lags(samples []sample) (begin, end float64) {
	if len(samples) == 0 {
		return 0, 0
	}
	first := samples[0].at
	quarter := samples[len(samples)-1].at.Sub(first) / 4
	for _, s := range samples {
		if at := s.at.Sub(first); at <= quarter {
			begin = max(begin, s.lag())
		} else if at >= 3*quarter {
			end = max(end, s.lag())
		}
	}
	return begin, end
}

// aged is how old some events were when they were counted.
type aged struct {
	age    time.Duration
	events float64
}

// ages compares two curves: what was counted between two samples was produced when the topic had as many events. An age is up to the time
// between two samples too large. Samples before begin tell when events were produced, and nothing else.
func ages(samples []sample, begin time.Time) (list []aged) {
	j := 1
	for i := 1; i < len(samples); i++ {
		n := samples[i].counted - samples[i-1].counted
		if n <= 0 || samples[i-1].at.Before(begin) {
			continue
		}
		middle := samples[i].counted - n/2
		for j < i && samples[j].produced < middle {
			j++
		}
		a, b := samples[j-1], samples[j]
		at := b.at
		if middle < b.produced {
			share := max(0, (middle-a.produced)/(b.produced-a.produced))
			at = a.at.Add(time.Duration(share * float64(b.at.Sub(a.at))))
		}
		list = append(list, aged{samples[i].at.Sub(at), n})
	}
	return list
}

// percentile is the age that so large a share of the events does not exceed.
func percentile(list []aged, share float64) time.Duration {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b aged) int { return cmp.Compare(a.age, b.age) })
	all, sum := 0.0, 0.0
	for _, a := range list {
		all += a.events
	}
	for _, a := range list {
		if sum += a.events; sum >= share*all {
			return a.age
		}
	}
	return 0
}
