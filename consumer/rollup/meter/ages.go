package meter

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ageBounds are the buckets of footfall_event_age_seconds: half a second is usual (chunk.max_age), an hour is an outage.
var ageBounds = []float64{.25, .5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 21600, 86400}

// ages is the histogram of events' ages, by topic. It is not a prometheus.Histogram: that one takes events one by one, and a chunk has
// hundreds of thousands.
type ages struct {
	desc *prometheus.Desc

	mu     sync.Mutex
	topics map[string]*topicAges
}

type topicAges struct {
	buckets []uint64 // not cumulative; the last one is for what is older than all bounds
	sum     float64
}

func newAges() *ages {
	return &ages{topics: map[string]*topicAges{}, desc: prometheus.NewDesc("footfall_event_age_seconds",
		"Age of events when they were counted, or found to be duplicate, invalid or retired: from the message's timestamp in Kafka until its chunk "+
			"was written. The bucket of an event is right to a 32nd of the time that its partition's events in the chunk cover.", []string{"topic"}, nil)}
}

// show makes a topic visible before anything of it is counted.
func (a *ages) show(topic string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of(topic)
}

func (a *ages) of(topic string) *topicAges {
	if a.topics[topic] == nil {
		a.topics[topic] = &topicAges{buckets: make([]uint64, len(ageBounds)+1)}
	}
	return a.topics[topic]
}

// add notes messages that are counted now. Clocks differ: a message of the future has age 0.
func (a *ages) add(topic string, written *Times, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	to, ms := a.of(topic), now.UnixMilli()
	for i, n := range written.counts {
		if n == 0 {
			continue
		}
		middle := written.begin + int64(i)<<written.shift + int64(1)<<written.shift/2
		bucket, _ := slices.BinarySearch(ageBounds, float64(max(ms-middle, 0))/1000)
		to.buckets[bucket] += uint64(n)
	}
	to.sum += float64(max(int64(written.n)*(ms-written.origin)-written.sum, 0)) / 1000
}

// Describe implements prometheus.Collector.
func (a *ages) Describe(out chan<- *prometheus.Desc) { out <- a.desc }

// Collect implements prometheus.Collector.
func (a *ages) Collect(out chan<- prometheus.Metric) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, topic := range slices.Sorted(maps.Keys(a.topics)) {
		of, total := a.topics[topic], uint64(0)
		cumulative := make(map[float64]uint64, len(ageBounds))
		for i, bound := range ageBounds {
			total += of.buckets[i]
			cumulative[bound] = total
		}
		total += of.buckets[len(ageBounds)]
		out <- prometheus.MustNewConstHistogram(a.desc, total, of.sum, cumulative, topic)
	}
}
