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
	s := &Store{nodes: &cql.Nodes{}, inFlight: 4} // without a schema: creating one on two nodes takes a minute
	if s.session, err = cql.Connect(cfg.Cassandra.CassandraClient, s.nodes.Watch); err != nil {
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
	if err := servers[1].Kill(); err != nil {
		t.Fatal(err)
	}
	until(map[string]string{"127.0.0.1": "group"})
	servers[1].CommitlogSync = "batch"
	if err := servers[1].Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(map[string]string{"127.0.0.1": "group", "127.0.0.2": "batch"})
}
