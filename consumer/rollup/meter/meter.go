// Package meter is what operators see of the rollup: its metrics. docs/metrics.md lists them.
//
// meter.go has the plain ones. times.go keeps the times of a chunk's messages in little memory, and ages.go makes the histogram of their ages.
// waiting.go knows, for each partition, since when its oldest event waits.
package meter

import (
	"context"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/repair"
	"footfall/consumer/store"
	"footfall/internal/metric"
	"footfall/internal/retry"
	"footfall/models"
)

// Metrics are the metrics of one consumer. Safe for concurrent use.
type Metrics struct {
	LRUHits      prometheus.Counter // see sight.New
	Lookups      prometheus.Counter
	LedgerReads  prometheus.Counter
	FlushRetries prometheus.Counter
	Generations  prometheus.Counter // of the group
	Repair       *repair.Metrics
	Events       *prometheus.CounterVec // by topic and outcome

	keyWrites    *prometheus.CounterVec
	flushSeconds prometheus.Histogram
	chunkEvents  prometheus.Histogram
	chunkAge     prometheus.Histogram
	lag          *prometheus.GaugeVec
	epoch        *prometheus.GaugeVec
	taken        *prometheus.CounterVec
	beyondSeal   *prometheus.GaugeVec
	retention    *prometheus.GaugeVec
	partitions   *prometheus.GaugeVec
	owned        *prometheus.GaugeVec
	memory       *prometheus.GaugeVec
	ages         *ages

	mu      sync.Mutex
	waiting map[models.Partition]*Waiting // of the partitions that this process owns
}

// Why a partition was taken.
const (
	first    = "first"    // nobody owned it before
	handover = "handover" // its owner had released it
	takeover = "takeover" // its owner had not
	renewal  = "renewal"  // we own it: a write of ours had an unknown outcome
)

// New makes them and registers them with reg, which must not have another consumer's.
func New(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		Repair: repair.NewMetrics(reg),
		Events: metric.Counters(reg, "footfall_events_total",
			"Events by topic and outcome: read is all of them, each of which is applied, duplicate, invalid or retired.", "topic", "outcome"),
		LRUHits:      metric.Counter(reg, "footfall_visitor_lru_hits_total", "Visitor checks answered from memory, per part of a chunk and distinct sighting."),
		Lookups:      metric.Counter(reg, "footfall_visitor_lookups_total", "Visitor checks that had to ask the store."),
		LedgerReads:  metric.Counter(reg, "footfall_ledger_reads_total", "Keys whose ledger was read."),
		keyWrites:    metric.Counters(reg, "footfall_key_writes_total", "Atomic writes, one per key and flush, by outcome: applied, refused, unknown.", "outcome"),
		flushSeconds: metric.Histogram(reg, "footfall_flush_seconds", "Time to count a chunk, retries included.", prometheus.ExponentialBuckets(0.005, 2, 15)...),
		FlushRetries: metric.Counter(reg, "footfall_flush_retries_total", "Flushes that failed and were tried again."),
		chunkEvents: metric.Histogram(reg, "footfall_chunk_events", "Events of a chunk that are to be counted, when it is handed over for writing.",
			prometheus.ExponentialBuckets(1, 4, 11)...),
		chunkAge: metric.Histogram(reg, "footfall_chunk_age_seconds", "How long a chunk had collected when it was handed over for writing.",
			.1, .25, .5, .75, 1, 2, 4, 8, 16, 32, 64),
		lag:   metric.Gauges(reg, "footfall_lag_events", "Events in the log that are not counted yet, updated every second.", "topic", "partition"),
		epoch: metric.Gauges(reg, "footfall_epoch", "Epoch under which this process owns a partition.", "topic", "partition"),
		taken: metric.Counters(reg, "footfall_epochs_taken_total", "Partitions taken, by reason: first (nobody owned it before), handover (released by its owner), "+
			"takeover (its owner did not release it), renewal (our own, after a write of unknown outcome).", "reason"),
		Generations: metric.Counter(reg, "footfall_generations_total", "Group generations this process has been part of."),
		beyondSeal: metric.Gauges(reg, "footfall_beyond_seal_events",
			"Events written to a sealed topic: they are not counted until consumer grow is run again and carries them over.", "topic", "partition"),
		retention:  metric.Gauges(reg, "footfall_topic_retention_seconds", "How long Kafka keeps events of the topic (retention.ms); +Inf: for ever.", "topic"),
		partitions: metric.Gauges(reg, "footfall_topic_partitions", "Partitions of the topic that consumers share.", "topic"),
		memory: metric.Gauges(reg, "footfall_memory_bytes", "About the memory that is held, by use: windows of duplicates, fetched messages, chunks, cached"+
			" visitors, cached positions, repairs.", "use"),
		owned:   metric.Gauges(reg, "footfall_partitions_owned", "Partitions of the topic that this process counts.", "topic"),
		ages:    newAges(),
		waiting: map[models.Partition]*Waiting{},
	}
	metric.Zero(m.keyWrites, "applied", "refused", "unknown")
	metric.Zero(m.taken, first, handover, takeover, renewal)
	reg.MustRegister(m.ages, (*waitings)(m))
	return m
}

func labels(p models.Partition) []string { return []string{p.Topic, strconv.Itoa(p.Number)} }

// Topics says which topics are read from now on, and how many partitions of each are counted. Series of others go.
func (m *Metrics) Topics(partitions map[string]int) {
	m.retention.Reset()
	m.partitions.Reset()
	m.owned.Reset()
	for topic, n := range partitions {
		m.partitions.WithLabelValues(topic).Set(float64(n))
		m.owned.WithLabelValues(topic)
		for _, outcome := range []string{"read", "applied", "duplicate", "invalid", "retired"} {
			m.Events.WithLabelValues(topic, outcome)
		}
		m.ages.show(topic)
	}
}

// topicInterval is how often Kafka is asked how long it keeps events.
const topicInterval = time.Minute

// WatchTopics tells operators how long Kafka keeps the events of topics, until ctx ends.
func (m *Metrics) WatchTopics(ctx context.Context, topics []string, retention func(context.Context, string) (time.Duration, error)) {
	for ctx.Err() == nil {
		for _, topic := range topics {
			if kept, err := retention(ctx, topic); err == nil { // else what was known stays: Discover has warned if it is not allowed
				m.keeps(topic, kept)
			}
		}
		_ = retry.Sleep(ctx, topicInterval)
	}
}

// keeps says how long Kafka keeps events of a topic; negative: for ever.
func (m *Metrics) keeps(topic string, retention time.Duration) {
	kept := retention.Seconds()
	if retention < 0 {
		kept = math.Inf(1)
	}
	m.retention.WithLabelValues(topic).Set(kept)
}

// Took says that a partition was taken; again: it was ours already.
func (m *Metrics) Took(t store.Tenure, again bool) {
	reason := takeover
	switch {
	case again:
		reason = renewal
	case t.Before == 0:
		reason = first
	case t.Fresh:
		reason = handover
	}
	m.taken.WithLabelValues(reason).Inc()
	m.epoch.WithLabelValues(labels(t.Partition)...).Set(float64(store.EpochNumber(t.Epoch)))
}

// Owns says which partitions this process counts from now on, until Lost.
func (m *Metrics) Owns(waiting map[models.Partition]*Waiting) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting = waiting
	for p := range waiting {
		m.owned.WithLabelValues(p.Topic).Inc()
	}
}

// Lost removes the series of a generation that has ended: the partitions' next owners report them.
func (m *Metrics) Lost() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := range m.waiting {
		m.owned.WithLabelValues(p.Topic).Set(0)
	}
	m.waiting = nil
	m.lag.Reset()
	m.epoch.Reset()
	m.Repair.Reset()
	m.beyondSeal.Reset()
}

// Holds says about how many bytes are in use for something.
func (m *Metrics) Holds(use string, bytes int) { m.memory.WithLabelValues(use).Set(float64(bytes)) }

// Wrote says what became of the write of a key.
func (m *Metrics) Wrote(err error) { m.keyWrites.WithLabelValues(store.Outcome(err)).Inc() }

// HandedOver says that a chunk goes to be written: how many of its events are to be counted, and how long it has collected.
func (m *Metrics) HandedOver(events int, age time.Duration) {
	m.chunkEvents.Observe(float64(events))
	m.chunkAge.Observe(age.Seconds())
}

// Flushed says that a chunk was counted: its events by outcome and topic, and how long it took.
func (m *Metrics) Flushed(events map[string]map[string]int, took time.Duration) {
	m.flushSeconds.Observe(took.Seconds())
	for outcome, byTopic := range events {
		for topic, n := range byTopic {
			m.Events.WithLabelValues(topic, outcome).Add(float64(n))
		}
	}
}

// Counted says that messages of a topic which were written at these times are counted now.
func (m *Metrics) Counted(topic string, written *Times, now time.Time) {
	m.ages.add(topic, written, now)
}

// Beyond says how many messages lie beyond the seal of a partition.
func (m *Metrics) Beyond(p models.Partition, n int64) {
	m.beyondSeal.WithLabelValues(labels(p)...).Set(float64(n))
}

// Lagging says how many messages of a partition are not counted.
func (m *Metrics) Lagging(p models.Partition, behind int64) {
	m.lag.WithLabelValues(labels(p)...).Set(float64(max(behind, 0)))
}
