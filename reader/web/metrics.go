package web

import "github.com/prometheus/client_golang/prometheus"

// metrics are what the server measures.
type metrics struct {
	requests *prometheus.CounterVec
	refused  *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	rows     prometheus.Counter
	cut      prometheus.Counter
	panics   prometheus.Counter
	inFlight prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "footfall_reader_requests_total",
			Help: "Answered requests by route and HTTP status; 499: the client was gone before the answer.",
		}, []string{"route", "code"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "footfall_reader_refused_total", Help: "Requests that were refused, by reason.",
		}, []string{"reason"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "footfall_reader_seconds", Help: "Time to answer, by route, until the last byte was handed over.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60},
		}, []string{"route"}),
		rows: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "footfall_reader_rows_total", Help: "Rows of lists that were sent.",
		}),
		cut: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "footfall_reader_cut_total", Help: "Streamed answers that ended early, because the store failed or they took too long. Clients see a broken connection.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "footfall_reader_panics_total", Help: "Panics that were survived. The log has the stack.",
		}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "footfall_reader_in_flight", Help: "Questions that are being answered; http.max_in_flight at the most.",
		}),
	}
	for reason := range statuses { // mistakes in requests are more: they show once they happen
		m.refused.WithLabelValues(reason) // so that 0 is shown
	}
	reg.MustRegister(m.requests, m.refused, m.seconds, m.rows, m.cut, m.panics, m.inFlight)
	return m
}
