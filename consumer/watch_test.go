package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"footfall/consumer/cassandra"
)

// aCluster answers what a test sets.
type aCluster struct {
	mu      sync.Mutex
	nodes   []cassandra.Node
	err     error
	changed error
	closed  atomic.Bool
}

func (c *aCluster) Nodes(context.Context) ([]cassandra.Node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes, c.err
}

func (c *aCluster) SameReplication(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

func (c *aCluster) Close() { c.closed.Store(true) }

// become changes what it answers from now on.
func (c *aCluster) become(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func TestOneNodeThatIsNotDurableIsEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &aCluster{nodes: []cassandra.Node{{Address: "a", CommitlogSync: "group"}, {Address: "b", CommitlogSync: "batch"}}}
		var said bytes.Buffer
		d := newDurability(store, false, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(&said, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		if err := d.check(ctx); err != nil || testutil.ToFloat64(d.gauge) != 1 || said.Len() > 0 {
			t.Errorf("durable %v, %v, %q", testutil.ToFloat64(d.gauge), err, said.String())
		}
		go func() { ended <- d.watch(ctx) }()
		store.become(func() { store.nodes = append(store.nodes, cassandra.Node{Address: "c", CommitlogSync: "periodic"}) }) // it comes up
		time.Sleep(3 * nodesEvery)
		synctest.Wait()
		if testutil.ToFloat64(d.gauge) != 0 || strings.Count(said.String(), "periodic") != 1 || !strings.Contains(said.String(), "node=c") {
			t.Errorf("durable %v, said %q", testutil.ToFloat64(d.gauge), said.String())
		}
		store.become(func() { store.nodes = store.nodes[:2] })
		time.Sleep(nodesEvery)
		synctest.Wait()
		if testutil.ToFloat64(d.gauge) != 1 {
			t.Error("the node is gone, and the store not durable")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestRequireDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &aCluster{nodes: []cassandra.Node{{Address: "a", CommitlogSync: "group"}}}
		d := newDurability(store, true, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
		if err := d.check(t.Context()); err != nil {
			t.Error(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- d.watch(t.Context()) }()
		store.become(func() { store.err = errors.New("no connection") })
		time.Sleep(3 * nodesEvery)
		synctest.Wait()
		if len(ended) > 0 {
			t.Errorf("gave up because Cassandra does not answer: %v", <-ended)
		}
		store.become(func() {
			store.err, store.nodes = nil, append(store.nodes, cassandra.Node{Address: "b", CommitlogSync: "periodic"})
		})
		if err := <-ended; err == nil || !strings.Contains(err.Error(), `node b is "periodic"`) {
			t.Errorf("%v, want the node", err)
		}
		if err := d.check(t.Context()); err == nil {
			t.Error("it would start again")
		}
	})
}

// When the replication changes, the store is closed, so that do can write no more.
func TestGuarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &aCluster{}
		if err := guarded(t.Context(), func(context.Context) error { return nil }, store); err != nil || store.closed.Load() {
			t.Errorf("%v, closed %v", err, store.closed.Load())
		}
		changed := errors.New("changed")
		time.AfterFunc(time.Minute, func() { store.become(func() { store.changed = changed }) })
		started := time.Now()
		err := guarded(t.Context(), func(ctx context.Context) error {
			for !store.closed.Load() && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			if !store.closed.Load() {
				t.Error("the store is still open")
			}
			return errors.New("the connection was closed")
		}, &aCluster{}, store)
		if took := time.Since(started); !errors.Is(err, changed) || took > time.Minute+2*replicationEvery {
			t.Errorf("%v after %v", err, took)
		}
	})
}
