package web

import (
	"github.com/prometheus/client_golang/prometheus"

	"footfall/internal/metric"
)

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
		requests: metric.Counters(reg, "footfall_reader_requests_total",
			"Answered requests by route and HTTP status; 499: the client was gone before the answer.", "route", "code"),
		refused: metric.Counters(reg, "footfall_reader_refused_total", "Requests that were refused, by reason.", "reason"),
		seconds: metric.Histograms(reg, "footfall_reader_seconds",
			"Time to answer, by route, until the last byte was handed over.", "route", .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60),
		rows: metric.Counter(reg, "footfall_reader_rows_total", "Rows of lists that were sent."),
		cut: metric.Counter(reg, "footfall_reader_cut_total",
			"Streamed answers that ended early, because the store failed or they took too long. Clients see a broken connection."),
		panics: metric.Counter(reg, "footfall_reader_panics_total", "Panics that were survived. The log has the stack."),
		inFlight: metric.Gauge(reg, "footfall_reader_in_flight",
			"Questions that are being answered; http.max_in_flight at the most."),
	}
	for reason := range statuses { // mistakes in requests are more: they show once they happen
		m.refused.WithLabelValues(reason) // so that 0 is shown
	}
	return m
}
