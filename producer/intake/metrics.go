package intake

import (
	"github.com/prometheus/client_golang/prometheus"

	"footfall/producer/admission"
	"footfall/producer/answer"
)

// prefetched is why the server leaves out a visit whose page was only fetched in advance. It is no refusal.
const prefetched = "prefetch"

// metrics are what the server measures. Dashboards and alerts use their names.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	refused  *prometheus.CounterVec
	filtered *prometheus.CounterVec
	panics   prometheus.Counter
}

// newMetrics registers with reg, which must not have another server's.
func newMetrics(reg *prometheus.Registry, small, large *admission.Semaphore) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "footfall_producer_requests_total",
			Help: "Answered requests by route and HTTP status.",
		}, []string{"route", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "footfall_producer_request_seconds",
			Help:    "Time to answer a request, by route, from its header until the answer was handed over: reading the body and waiting for Kafka included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "footfall_producer_refused_total",
			Help: "Requests, and events of batches, that were refused, by reason; those of short links too.",
		}, []string{"reason"}),
		filtered: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "footfall_producer_filtered_total",
			Help: "What the producer left out on its own, by reason: too_many_new_keys (the referrer of a redirect or of a page's click, a page's features; they count as (other)), rate_limited (that a redirect's click was a human's), prefetch (a visit that nobody saw).",
		}, []string{"reason"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "footfall_producer_panics_total",
			Help: "Panics that were survived: of a handler (answered 500), of the store of links (503), of writing a redirect's click. The log has the stack.",
		}),
	}
	for _, reason := range []string{answer.TooManyNewKeys, answer.RateLimited, prefetched} {
		m.filtered.WithLabelValues(reason) // so that 0 is shown
	}
	for reason := range answer.Statuses { // mistakes in events are more: they show once they happen
		m.refused.WithLabelValues(reason)
	}
	gauge(reg, "footfall_producer_large_bodies",
		"Requests with a body larger than one event, or with more than 300 events, whose answer is not read yet; 128 at the most by default (http.body_bytes).",
		large.InUse)
	gauge(reg, "footfall_producer_small_bodies",
		"Requests with a body above 4 KB, a compressed one, or more than 50 events, whose answer is not read yet; 1024 at the most by default (http.body_bytes).",
		small.InUse)
	reg.MustRegister(m.requests, m.seconds, m.refused, m.filtered, m.panics)
	return m
}

func gauge(reg prometheus.Registerer, name, help string, value func() int) {
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
}
