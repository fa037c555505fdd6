package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"footfall/consumer/cassandra"
	"footfall/internal/metric"
	"footfall/internal/retry"
)

// How often the cluster is checked.
const (
	replicationEvery = time.Second
	nodesEvery       = 5 * time.Second
)

// cluster is what is checked. *cassandra.Store is one.
type cluster interface {
	SameReplication(ctx context.Context) error
	Nodes(ctx context.Context) ([]cassandra.Node, error)
	Close()
}

// guarded calls do, and watches the replication of the stores' keyspaces meanwhile. When that changes, guarded closes the store: what do
// has read since may be wrong, and do must not write it.
func guarded(ctx context.Context, do func(context.Context) error, stores ...cluster) error {
	group, ctx := errgroup.WithContext(ctx)
	watching, done := context.WithCancel(ctx)
	changed := make(chan error, len(stores))
	for _, store := range stores {
		group.Go(func() error {
			return every(watching, replicationEvery, func() error {
				err := store.SameReplication(watching)
				if err != nil {
					changed <- err // before do fails because the store is closed
					store.Close()
				}
				return err
			})
		})
	}
	group.Go(func() error {
		defer done()
		return do(ctx)
	})
	err := group.Wait()
	select {
	case err = <-changed:
	default:
	}
	return err
}

// every calls look until it fails or ctx ends.
func every(ctx context.Context, interval time.Duration, look func() error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := look(); err != nil {
				return err
			}
		}
	}
}

// durability tells, in the log and in a metric, when a crash of a Cassandra node can cost acknowledged writes.
type durability struct {
	store   cluster
	require bool // refuse to count in that case
	gauge   prometheus.Gauge
	log     *slog.Logger
	warned  map[string]string // by node, the commitlog_sync that the last warning named
}

func newDurability(store cluster, require bool, reg prometheus.Registerer, log *slog.Logger) *durability {
	return &durability{store: store, require: require, log: log, warned: map[string]string{}, gauge: metric.Gauge(reg, "footfall_store_durable",
		"1 if commitlog_sync is group or batch on every node; else counts are exact only while no Cassandra node crashes.")}
}

// check asks every node that is up. It fails if none answers, or if one is not durable and durability is required.
func (d *durability) check(ctx context.Context) error {
	nodes, err := d.store.Nodes(ctx)
	if err != nil {
		return err
	}
	return d.judge(nodes)
}

// watch goes on checking until ctx ends: a node may come up, or come back with other settings.
func (d *durability) watch(ctx context.Context) error {
	return every(ctx, nodesEvery, func() error {
		nodes, err := d.store.Nodes(ctx)
		if err != nil {
			return nil //nolint:nilerr // nobody answers: then nothing is counted either
		}
		return d.judge(nodes)
	})
}

// judge fails if a node is not durable and durability is required.
func (d *durability) judge(nodes []cassandra.Node) error {
	durable := 1.0
	for _, n := range nodes {
		if n.Durable() {
			delete(d.warned, n.Address)
			continue
		}
		if durable = 0; d.require {
			return retry.Final(fmt.Errorf("commitlog_sync of Cassandra's node %s is %q, but cassandra.require_durable is set: use group or batch in its"+
				" cassandra.yaml", n.Address, n.CommitlogSync))
		}
		if said, ok := d.warned[n.Address]; !ok || said != n.CommitlogSync {
			d.warned[n.Address] = n.CommitlogSync
			d.log.Warn("counts are exact only while no Cassandra node crashes: set commitlog_sync to group or batch", "node", n.Address,
				"commitlog_sync", n.CommitlogSync)
		}
	}
	d.gauge.Set(durable)
	return nil
}
