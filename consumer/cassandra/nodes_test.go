package cassandra

import (
	"testing"
	"time"

	"footfall/configs"
	"footfall/deployments/stack"
	"footfall/deployments/stack/stacktest"
	"footfall/internal/cql"
)

// Each node has its own settings, and a node that restarts may have others than before.
func TestNodesReadsTheSettingsOfEveryNode(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two Cassandra nodes: not with -short")
	}
	const patient = 9 * time.Second
	servers := stacktest.Cassandra(t, 2, func(c *stack.Cassandra) {
		if c.Address == "127.0.0.2" {
			c.CommitlogSync, c.CounterTimeout = "periodic", patient
		}
	})
	cfg, err := configs.LoadConsumer("")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Cassandra.Hosts, cfg.Cassandra.Port = []string{servers[0].Address}, servers[0].Port
	s := &Store{nodes: &cql.Nodes{}, inFlight: 4, traffic: newTraffic()} // without a schema: creating one on two nodes takes a minute
	if s.session, err = cql.Connect(t.Context(), cfg.Cassandra.CassandraClient, s.nodes.Watch); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	// until waits until the nodes have these settings, by address.
	until := func(want map[string]string) {
		t.Helper()
		var nodes []Node
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			var err error
			if nodes, err = s.Nodes(t.Context()); err != nil {
				t.Fatal(err)
			}
			same := len(nodes) == len(want)
			for _, n := range nodes {
				same = same && want[n.Address] == n.CommitlogSync
			}
			if same {
				return
			}
		}
		t.Fatalf("the nodes say %+v, want %v", nodes, want)
	}
	until(map[string]string{"127.0.0.1": "group", "127.0.0.2": "periodic"})
	if s.WriteTimeout() != patient {
		t.Errorf("the write timeout is %v, but that of one node is %v", s.WriteTimeout(), patient)
	}
	examined(t, s, true, false, true)
	if err := servers[1].Kill(); err != nil {
		t.Fatal(err)
	}
	until(map[string]string{"127.0.0.1": "group"})
	examined(t, s, true, false, false)
	servers[1].CommitlogSync = "batch"
	if err := servers[1].Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(map[string]string{"127.0.0.1": "group", "127.0.0.2": "batch"})
}

// examined checks what a doctor learns of the two nodes: whether each is durable, and whether the second is up.
func examined(t *testing.T, s *Store, first, second, up bool) {
	t.Helper()
	nodes, err := s.Examine(t.Context(), "", time.Now)
	if err != nil || len(nodes) != 2 {
		t.Fatalf("%d nodes, %v", len(nodes), err)
	}
	for i, want := range []struct{ durable, up bool }{{first, true}, {second, up}} {
		if n := nodes[i]; n.Durable() != want.durable || (n.Err == nil) != want.up {
			t.Errorf("%s: commitlog_sync %q, %v; want durable %v, up %v", n.Address, n.CommitlogSync, n.Err, want.durable, want.up)
		}
	}
}
