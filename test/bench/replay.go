package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/gocql/gocql"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/rollup"
	"footfall/test/bench/workload"
)

// request is one that footfall made.
type request struct {
	batch      bool
	of         gocql.BatchType
	statements []string
	values     [][]any
}

// replay has footfall count what is in the topic in this process and notes every request it makes. Then it says that it is
// ready, and for each line that comes, a suffix of fresh tables, it sends the very same requests to these, as many at once as
// footfall may, and does nothing else. That is Cassandra's limit for them.
func replay(ctx context.Context, t task, suffixes io.Reader, told *json.Encoder) error {
	cfg, err := configs.LoadConsumer("")
	if err != nil {
		return err
	}
	recorded, events, err := record(ctx, t, cfg)
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	debug.SetGCPercent(400) // the list is no part of the loop
	debug.FreeOSMemory()
	if err := told.Encode(true); err != nil {
		return err
	}
	lines, suffix := bufio.NewScanner(suffixes), t.Suffix
	for lines.Scan() {
		rename(recorded, suffix, lines.Text())
		suffix = lines.Text()
		m, err := sendAll(ctx, t, recorded, cfg.Cassandra.InFlight)
		if err != nil {
			return err
		}
		m.Events = events
		debug.FreeOSMemory() // others are measured until the next line comes
		if err := told.Encode(m); err != nil {
			return err
		}
	}
	return lines.Err()
}

// rename has the requests go to other tables.
func rename(recorded []request, from, to string) {
	renamed := map[string]string{}
	for i := range recorded {
		for j, cql := range recorded[i].statements {
			if renamed[cql] == "" {
				renamed[cql] = strings.ReplaceAll(cql, from+".", to+".")
			}
			recorded[i].statements[j] = renamed[cql]
		}
	}
}

func sendAll(ctx context.Context, t task, recorded []request, atOnce int) (m measured, err error) {
	session, err := connect(t)
	if err != nil {
		return m, err
	}
	defer session.Close()
	watch := begin()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, r := range recorded {
		m.Statements += float64(len(r.statements))
		group.Go(func() error { return r.send(ctx, session) })
	}
	err = group.Wait()
	m.Requests = float64(len(recorded))
	watch.end(&m)
	m.Peak = -1 // says nothing: the list is in it
	return m, err
}

func (r request) send(ctx context.Context, session *gocql.Session) error {
	if !r.batch {
		iter := session.Query(r.statements[0], r.values[0]...).WithContext(ctx).Iter()
		iter.NumRows()
		return iter.Close()
	}
	batch := session.NewBatch(r.of).WithContext(ctx)
	for i, cql := range r.statements {
		batch.Query(cql, r.values[i]...)
	}
	return session.ExecuteBatch(batch)
}

// record counts what is in the topic and returns the requests in the order in which they ended, and how many
// events they were for. It is an error if one failed: what is done again for its sake is not what footfall needs.
func record(ctx context.Context, t task, cfg configs.Consumer) (recorded []request, events int, err error) {
	cfg.Kafka.Brokers, cfg.Kafka.Group = []string{t.Broker}, "bench-record"+t.Suffix
	cfg.Kafka.Topics, cfg.Metrics = t.Topics(), workload.Plan().Metrics()
	cfg.Cassandra.Hosts, cfg.Cassandra.Port, cfg.Cassandra.KeyspaceSuffix = []string{t.Host}, t.Port, t.Suffix
	store, err := cassandra.Open(ctx, cfg.Cassandra, workload.Plan())
	if err != nil {
		return nil, 0, err
	}
	defer store.Close()
	var mu sync.Mutex
	failures := 0
	store.Watch(func(b *gocql.ObservedBatch, q *gocql.ObservedQuery) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case b != nil && b.Err == nil:
			recorded = append(recorded, request{true, kindOf(b.Statements[0]), b.Statements, b.Values})
		case q != nil && q.Err == nil:
			recorded = append(recorded, request{statements: []string{q.Statement}, values: [][]any{q.Values}})
		default:
			failures++
		}
	})
	reg := prometheus.NewRegistry()
	consumer, err := rollup.New(cfg, store, reg, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- consumer.Run(ctx) }()
	for counted(reg) < t.Events {
		select {
		case err := <-ended:
			return nil, 0, fmt.Errorf("the consumer ended after %d of %d events: %w", counted(reg), t.Events, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; err != nil {
		return nil, 0, err
	}
	mu.Lock()
	defer mu.Unlock()
	if failures > 0 {
		return nil, 0, fmt.Errorf("%d of %d requests failed: try again when Cassandra has more of the machine", failures, failures+len(recorded))
	}
	return recorded, counted(reg), nil
}

// kindOf tells the type of a recorded batch.
func kindOf(cql string) gocql.BatchType {
	if strings.HasPrefix(cql, "UPDATE") {
		return gocql.CounterBatch
	}
	return gocql.UnloggedBatch
}

func counted(reg *prometheus.Registry) int {
	return int(sumOf(reg, "footfall_events_total", "applied"))
}

// sumOf adds up a counter over all labels, or those with one value.
func sumOf(reg *prometheus.Registry, name, label string) (sum float64) {
	families, err := reg.Gather()
	if err != nil {
		return 0
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, metric := range f.GetMetric() {
			has := label == ""
			for _, l := range metric.GetLabel() {
				has = has || l.GetValue() == label
			}
			if has {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	return sum
}
