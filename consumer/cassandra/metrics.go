package cassandra

import (
	"context"
	"sync/atomic"

	"github.com/gocql/gocql"
	"github.com/prometheus/client_golang/prometheus"

	"footfall/internal/metric"
)

// The kinds of requests of the data path.
const (
	kindCounters = "counters" // counter batches
	kindLedger   = "ledger"   // reads of keys' ledgers
	kindLookup   = "lookup"   // reads of visitors
	kindVisitors = "visitors" // writes of visitors
	kindLatest   = "latest"   // writes of the latest clicks
	kindNames    = "names"    // writes of lists
)

// traffic counts the data path's requests to Cassandra.
type traffic struct {
	requests   *prometheus.CounterVec
	statements *prometheus.CounterVec
	kinds      map[string]tally
	inFlight   prometheus.Gauge
	waiting    prometheus.Gauge
}

// tally counts the requests of one kind. The driver calls it after each request.
type tally struct {
	requests, statements prometheus.Counter
	watch                Watch
}

// Watch is called after every request of the data path, with a batch or a query. It is called concurrently.
type Watch func(batch *gocql.ObservedBatch, query *gocql.ObservedQuery)

func newTraffic() *traffic {
	t := &traffic{
		requests: metric.Counters(nil, "footfall_store_requests_total",
			"Requests to Cassandra by kind: counters, ledger, lookup (of visitors), visitors (remembered), latest (clicks), names (listed).", "kind"),
		statements: metric.Counters(nil, "footfall_store_statements_total", "CQL statements in those requests.", "kind"),
		inFlight: metric.Gauge(nil, "footfall_store_requests_in_flight",
			"Requests to Cassandra under way: at most cassandra.in_flight of looking visitors up, and as many of writing counters."),
		waiting: metric.Gauge(nil, "footfall_store_requests_waiting",
			"Requests to Cassandra that wait for their turn (cassandra.in_flight)."),
		kinds: map[string]tally{},
	}
	t.watch(nil)
	return t
}

func (t *traffic) watch(w Watch) {
	for _, kind := range []string{kindCounters, kindLedger, kindLookup, kindVisitors, kindLatest, kindNames} {
		t.kinds[kind] = tally{t.requests.WithLabelValues(kind), t.statements.WithLabelValues(kind), w}
	}
}

// ObserveQuery implements gocql.QueryObserver.
func (t tally) ObserveQuery(_ context.Context, q gocql.ObservedQuery) {
	t.requests.Inc()
	t.statements.Inc()
	if t.watch != nil {
		t.watch(nil, &q)
	}
}

// ObserveBatch implements gocql.BatchObserver.
func (t tally) ObserveBatch(_ context.Context, b gocql.ObservedBatch) {
	t.requests.Inc()
	t.statements.Add(float64(len(b.Statements)))
	if t.watch != nil {
		t.watch(&b, nil)
	}
}

// turns makes do count the requests that wait for their turn and those that are under way. over must be called when no more calls begin: it
// takes back those that never had their turn.
func (t *traffic) turns(n int, do func(context.Context, int) error) (counted func(context.Context, int) error, over func()) {
	t.waiting.Add(float64(n))
	var begun atomic.Int64
	counted = func(ctx context.Context, i int) error {
		begun.Add(1)
		t.waiting.Dec()
		t.inFlight.Inc()
		defer t.inFlight.Dec()
		return do(ctx, i)
	}
	return counted, func() { t.waiting.Sub(float64(int64(n) - begun.Load())) }
}

// Metrics are how many requests the store makes, for a registry.
func (s *Store) Metrics() []prometheus.Collector {
	t := s.traffic
	return []prometheus.Collector{t.requests, t.statements, t.inFlight, t.waiting}
}

// Watch makes the store call w after every request. Call it before the store is used. Default: none.
func (s *Store) Watch(w Watch) { s.traffic.watch(w) }

func (s *Store) query(ctx context.Context, kind, cql string, args ...any) *gocql.Query {
	return s.session.Query(cql, args...).Observer(s.traffic.kinds[kind]).WithContext(ctx)
}

func (s *Store) newBatch(ctx context.Context, kind string, of gocql.BatchType) *gocql.Batch {
	return s.session.NewBatch(of).Observer(s.traffic.kinds[kind]).WithContext(ctx)
}
