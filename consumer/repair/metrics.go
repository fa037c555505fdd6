package repair

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/store"
	"footfall/internal/metric"
	"footfall/models"
)

// Metrics is what an operator sees of doubts and repairs.
type Metrics struct {
	doubts     prometheus.Counter
	openDoubts *prometheus.GaugeVec
	unsettled  *prometheus.GaugeVec
	repairs    *prometheus.CounterVec
}

// NewMetrics registers them with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		doubts: metric.Counter(reg, "footfall_doubts_total",
			"Spans of offsets put in doubt: a write's outcome unknown, an owner that crashed, a partition lost."),
		openDoubts: metric.Gauges(reg, "footfall_doubts_open",
			"Doubts that are still checked, per partition that this process owns.", "topic", "partition"),
		unsettled: metric.Gauges(reg, "footfall_doubts_unsettled",
			"Doubts that cannot be checked any more, since their events or visitors' rows are gone: counts may be wrong for good.", "topic", "partition"),
		repairs: metric.Counters(reg, "footfall_repairs_total",
			"Keys whose counts were repaired from the log, by outcome of the write: applied, refused, unknown.", "outcome"),
	}
	metric.Zero(m.repairs, "applied", "refused", "unknown")
	return m
}

// Reset removes the series of a generation that has ended: the partitions' next owners report them.
func (m *Metrics) Reset() {
	m.openDoubts.Reset()
	m.unsettled.Reset()
}

func (m *Metrics) open(p models.Partition, doubts []store.Doubt) {
	unsettled := 0
	for _, d := range doubts {
		if d.Reason == store.DoubtUnsettled {
			unsettled++
		}
	}
	number := strconv.Itoa(p.Number)
	m.openDoubts.WithLabelValues(p.Topic, number).Set(float64(len(doubts) - unsettled))
	m.unsettled.WithLabelValues(p.Topic, number).Set(float64(unsettled))
}

func (m *Metrics) repaired(err error) { m.repairs.WithLabelValues(store.Outcome(err)).Inc() }
