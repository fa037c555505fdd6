package intake

import (
	"github.com/prometheus/client_golang/prometheus"

	"footfall/internal/metric"
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
		requests: metric.Counters(reg, "footfall_producer_requests_total",
			"Answered requests by route and HTTP status.", "route", "code"),
		seconds: metric.Histograms(reg, "footfall_producer_request_seconds",
			"Time to answer a request, by route, from its header until the answer was handed over: reading the body and waiting for Kafka included.", "route",
			.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10),
		refused: metric.Counters(reg, "footfall_producer_refused_total",
			"Requests, and events of batches, that were refused, by reason; those of short links too.", "reason"),
		filtered: metric.Counters(reg, "footfall_producer_filtered_total",
			"What the producer left out on its own, by reason: too_many_new_keys (the referrer of a redirect or of a page's click, a page's features; they count as (other)), rate_limited (that a redirect's click was a human's), prefetch (a visit that nobody saw).", "reason"),
		panics: metric.Counter(reg, "footfall_producer_panics_total",
			"Panics that were survived: of a handler (answered 500), of the store of links (503), of writing a redirect's click. The log has the stack."),
	}
	metric.Zero(m.filtered, answer.TooManyNewKeys, answer.RateLimited, prefetched)
	for reason := range answer.Statuses { // mistakes in events are more: they show once they happen
		m.refused.WithLabelValues(reason)
	}
	metric.Measured(reg, "footfall_producer_large_bodies",
		"Requests with a body larger than one event, or with more than 300 events, whose answer is not read yet; 128 at the most by default (http.body_bytes).",
		large.InUse)
	metric.Measured(reg, "footfall_producer_small_bodies",
		"Requests with a body above 4 KB, a compressed one, or more than 50 events, whose answer is not read yet; 1024 at the most by default (http.body_bytes).",
		small.InUse)
	return m
}
