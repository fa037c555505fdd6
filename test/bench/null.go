package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/consumer/gcpacer"
	"footfall/consumer/rollup"
	"footfall/consumer/store"
	"footfall/models"
	"footfall/test/bench/workload"
)

// null is a store that takes everything at once and keeps nothing: what remains is the consumer's own work.
type null struct{}

func (null) Take(_ context.Context, p models.Partition, owner string) (store.Tenure, error) {
	return store.Tenure{Partition: p, Owner: owner, Epoch: 1, Fresh: true}, nil
}

func (null) Owners(context.Context) ([]store.Owner, error)                { return nil, nil }
func (null) Release(context.Context, store.Tenure, int64) (bool, error)   { return true, nil }
func (null) Progress(context.Context, store.Tenure, int64) (bool, error)  { return true, nil }
func (null) Committed(context.Context, models.Partition) (int64, error)   { return 0, nil }
func (null) NoteTail(context.Context, models.Partition, store.Tail) error { return nil }
func (null) Tail(context.Context, models.Partition) (store.Tail, error)   { return store.Tail{}, nil }
func (null) FirstSeen(_ context.Context, sightings []models.Sighting) ([]models.Position, error) {
	return make([]models.Position, len(sightings)), nil
}
func (null) Remember(context.Context, []models.Sighting, []models.Position) error      { return nil }
func (null) Visitors(context.Context, []models.Visitor, func(int, models.First)) error { return nil }
func (null) RememberFirsts(context.Context, []models.Visitor, [][]models.First) error  { return nil }
func (null) ListNames(context.Context, []models.Name) error                            { return nil }
func (null) NoteProgress(context.Context, []store.Progress) error                      { return nil }
func (null) Ledger(context.Context, []models.Key, func(int, []store.LedgerRow)) error  { return nil }
func (null) Confirm(context.Context, []models.Key, func(int) iter.Seq[models.Cell], func(int, []store.LedgerRow)) (bool, error) {
	return true, nil
}
func (null) Apply(_ context.Context, writes []store.KeyWrite) []error {
	return make([]error, len(writes))
}
func (null) NoteDoubt(context.Context, store.Doubt) error                    { return nil }
func (null) Doubts(context.Context, models.Partition) ([]store.Doubt, error) { return nil, nil }
func (null) SettleDoubt(context.Context, store.Doubt) error                  { return nil }
func (null) Setting(_ context.Context, _, value string) (string, error)      { return value, nil }
func (null) WriteTimeout() time.Duration                                     { return 0 }

func (null) Leases(ctx context.Context) ([]store.Lease, error)  { return nil, ctx.Err() }
func (null) Notices(ctx context.Context) (store.Notices, error) { return store.Notices{}, ctx.Err() }

func (null) Withdraw(ctx context.Context, _ models.Millis) (bool, error) { return false, ctx.Err() }

var _ store.Store = null{}

// measureNull counts a topic into nothing, and tells how it went at each of the marks.
func measureNull(ctx context.Context, t task) (m measured, err error) {
	cfg, err := configs.LoadConsumer("")
	if err != nil {
		return m, err
	}
	cfg.Kafka.Brokers, cfg.Kafka.Group, cfg.Kafka.Topics = []string{t.Broker}, t.Topic+t.Suffix, t.Topics()
	cfg.Visitors.LRU, cfg.Metrics = t.LRU, workload.Plan().Metrics()
	gcpacer.Relax() // as the consumer does
	reg := prometheus.NewRegistry()
	consumer, err := rollup.New(cfg, null{}, reg, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		return m, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- consumer.Run(ctx) }()
	for consumer.Ready() != nil {
		select {
		case err := <-ended:
			return m, fmt.Errorf("the consumer ended: %w", err)
		case <-time.After(time.Millisecond):
		}
	}
	watch := begin()
	m.Values = map[string]float64{}
	for n := 0; n < t.Events; n = counted(reg) {
		for _, mark := range growth {
			name := fmt.Sprint(mark)
			if _, noted := m.Values[name]; n >= mark && !noted {
				var at measured
				watch.end(&at)
				m.Values[name], m.Values["cpu "+name] = float64(n)/at.Seconds, at.CPU*1e6/float64(n)
			}
		}
		select {
		case err := <-ended:
			return m, fmt.Errorf("the consumer ended: %w", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	m.Events = t.Events
	watch.end(&m)
	m.Values["lookups"] = sumOf(reg, "footfall_visitor_lookups_total", "") / float64(t.Events)
	cancel()
	return m, <-ended
}

// growth are the backlogs that are compared.
var growth = []int{30_000, 300_000, 1_000_000, 3_000_000}
