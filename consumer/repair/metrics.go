package repair

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/store"
	"footfall/models"
)

// Metrics is what an operator sees of doubts and repairs.
type Metrics struct {
	doubts     prometheus.Counter
	openDoubts *prometheus.GaugeVec
	unsettled  prometheus.Counter
	repairs    *prometheus.CounterVec
}

// NewMetrics registers them with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		doubts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "footfall_doubts_total",
			Help: "Spans of offsets put in doubt: a write's outcome unknown, an owner that crashed, a partition lost.",
		}),
		openDoubts: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "footfall_doubts_open",
			Help: "Doubts not yet settled, per partition that this process owns.",
		}, []string{"topic", "partition"}),
		unsettled: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "footfall_doubts_unsettled_total",
			Help: "Doubts given up because the log no longer holds their events: counts may be wrong for good.",
		}),
		repairs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "footfall_repairs_total",
			Help: "Keys whose counts were repaired from the log, by outcome of the write: applied, refused, unknown.",
		}, []string{"outcome"}),
	}
	for _, outcome := range []string{"applied", "refused", "unknown"} {
		m.repairs.WithLabelValues(outcome) // so that 0 is shown, and the first one is seen as an increase
	}
	reg.MustRegister(m.doubts, m.openDoubts, m.unsettled, m.repairs)
	return m
}

// Reset removes the series of a generation that has ended: the partitions' next owners report them.
func (m *Metrics) Reset() { m.openDoubts.Reset() }

func (m *Metrics) open(p models.Partition, n int) {
	m.openDoubts.WithLabelValues(p.Topic, strconv.Itoa(p.Number)).Set(float64(n))
}

func (m *Metrics) repaired(err error) { m.repairs.WithLabelValues(store.Outcome(err)).Inc() }
