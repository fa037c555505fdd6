package rollup

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/repair"
	"footfall/consumer/store"
	"footfall/models"
)

// metrics is what an operator sees of the rollup.
type metrics struct {
	events       *prometheus.CounterVec
	lruHits      prometheus.Counter
	lookups      prometheus.Counter
	ledgerReads  prometheus.Counter
	batches      *prometheus.CounterVec
	flushSeconds prometheus.Histogram
	flushRetries prometheus.Counter
	lag          *prometheus.GaugeVec
	epoch        *prometheus.GaugeVec
	generations  prometheus.Counter
	beyondSeal   *prometheus.GaugeVec
	repair       *repair.Metrics
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		repair: repair.NewMetrics(reg),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "footfall_events_total",
			Help: "Events by topic and outcome: read is all of them, each of which is applied, duplicate, invalid or retired.",
		}, []string{"topic", "outcome"}),
		lruHits: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "footfall_visitor_lru_hits_total",
			Help: "Visitor checks answered from memory, per chunk and distinct sighting.",
		}),
		lookups: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "footfall_visitor_lookups_total",
			Help: "Visitor checks that had to ask the store.",
		}),
		ledgerReads: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "footfall_ledger_reads_total",
			Help: "Keys whose ledger was read.",
		}),
		batches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "footfall_key_writes_total",
			Help: "Atomic writes, one per key and flush, by outcome: applied, refused, unknown.",
		}, []string{"outcome"}),
		flushSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "footfall_flush_seconds",
			Help:    "Time to count a chunk, retries included.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 14),
		}),
		flushRetries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "footfall_flush_retries_total",
			Help: "Flushes that failed and were tried again.",
		}),
		lag: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "footfall_lag_events",
			Help: "Events in the log that are not counted yet, updated every few seconds.",
		}, []string{"topic", "partition"}),
		epoch: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "footfall_epoch",
			Help: "Epoch under which this process owns a partition.",
		}, []string{"topic", "partition"}),
		generations: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "footfall_generations_total",
			Help: "Group generations this process has been part of.",
		}),
		beyondSeal: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "footfall_beyond_seal_events",
			Help: "Events written to a sealed topic: they are not counted until consumer grow is run again and carries them over.",
		}, []string{"topic", "partition"}),
	}
	reg.MustRegister(m.events, m.lruHits, m.lookups, m.ledgerReads, m.batches, m.flushSeconds, m.flushRetries, m.lag,
		m.epoch, m.generations, m.beyondSeal)
	return m
}

func labels(p models.Partition) []string { return []string{p.Topic, strconv.Itoa(p.Number)} }

func (m *metrics) took(t store.Tenure) {
	m.epoch.WithLabelValues(labels(t.Partition)...).Set(float64(store.EpochNumber(t.Epoch)))
}

// lost removes the series of a generation that has ended: the partitions' next owners report them.
func (m *metrics) lost() {
	m.lag.Reset()
	m.epoch.Reset()
	m.repair.Reset()
	m.beyondSeal.Reset()
}

func (m *metrics) batch(err error) { m.batches.WithLabelValues(store.Outcome(err)).Inc() }

func (m *metrics) flushed(c *chunk, took time.Duration) {
	m.flushSeconds.Observe(took.Seconds())
	invalid := map[string]int{}
	for _, l := range c.dead {
		invalid[l.Message.Topic]++
	}
	for outcome, byTopic := range map[string]map[string]int{
		"read": c.read, "applied": c.events.Topics(), "duplicate": c.duplicates, "invalid": invalid, "retired": c.retired,
	} {
		for topic, n := range byTopic {
			m.events.WithLabelValues(topic, outcome).Add(float64(n))
		}
	}
}

func (m *metrics) beyond(p models.Partition, n int64) {
	m.beyondSeal.WithLabelValues(labels(p)...).Set(float64(n))
}

func (m *metrics) lagging(p models.Partition, behind int64) {
	m.lag.WithLabelValues(labels(p)...).Set(float64(max(behind, 0)))
}
