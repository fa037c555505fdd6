// Package metric makes Prometheus metrics and registers them with reg, which must not have one of that name: it panics otherwise. A nil reg: nobody is
// shown them.
package metric

import "github.com/prometheus/client_golang/prometheus"

func registered[C prometheus.Collector](reg prometheus.Registerer, c C) C {
	if reg != nil {
		reg.MustRegister(c)
	}
	return c
}

// Counter makes a counter.
func Counter(reg prometheus.Registerer, name, help string) prometheus.Counter {
	return registered(reg, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help}))
}

// Counters makes a counter with labels.
func Counters(reg prometheus.Registerer, name, help string, labels ...string) *prometheus.CounterVec {
	return registered(reg, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

// Zero shows a counter as 0 for each value of its label: otherwise nobody sees the first one as an increase.
func Zero(c *prometheus.CounterVec, values ...string) {
	for _, value := range values {
		c.WithLabelValues(value)
	}
}

// Gauge makes a gauge.
func Gauge(reg prometheus.Registerer, name, help string) prometheus.Gauge {
	return registered(reg, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}))
}

// Gauges makes a gauge with labels.
func Gauges(reg prometheus.Registerer, name, help string, labels ...string) *prometheus.GaugeVec {
	return registered(reg, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

// Measured makes a gauge whose value is asked for each time. It may be asked concurrently.
func Measured(reg prometheus.Registerer, name, help string, value func() int) {
	registered(reg, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
}

// Histogram makes a histogram.
func Histogram(reg prometheus.Registerer, name, help string, buckets ...float64) prometheus.Histogram {
	return registered(reg, prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}))
}

// Histograms makes a histogram with a label.
func Histograms(reg prometheus.Registerer, name, help, label string, buckets ...float64) *prometheus.HistogramVec {
	return registered(reg, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{label}))
}
