package stack

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func settings(t *testing.T, c *Cassandra) []string {
	t.Helper()
	b, err := c.withDefaults().yaml()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(b), "\n")
}

func TestCassandraYAML(t *testing.T) {
	has := func(c *Cassandra, want ...string) {
		t.Helper()
		got := settings(t, c)
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("no line %q in\n%s", w, strings.Join(got, "\n"))
			}
		}
	}
	has(&Cassandra{Dir: "/x"},
		"listen_address: 127.0.0.1", "rpc_address: 127.0.0.1", "native_transport_port: 9042", "storage_port: 17000",
		`      - seeds: "127.0.0.1:17000"`, `commitlog_directory: "/x/cassandra/commitlog"`,
		"commitlog_sync: group", "commitlog_sync_group_window: 10ms",
		"concurrent_writes: 128", "concurrent_counter_writes: 128", "counter_cache_size: 256MiB", "paxos_variant: v2")
	has(&Cassandra{Dir: "/x", Address: "127.0.0.3", Port: 1, StoragePort: 2, Seeds: []string{"127.0.0.1", "127.0.0.2"}},
		"listen_address: 127.0.0.3", "native_transport_port: 1", `      - seeds: "127.0.0.1:2,127.0.0.2:2"`)
	has(&Cassandra{Dir: "/x", Secure: &Secure{CA: "/x/ca.pem"}},
		"authenticator: PasswordAuthenticator", "  optional: false", "  keystore: /x/cassandra/pair.pem", "  truststore: /x/ca.pem")
	has(&Cassandra{Dir: "/x", CommitlogSync: "batch"}, "commitlog_sync: batch")
	has(&Cassandra{Dir: "/x", CounterTimeout: 1500 * time.Millisecond, HeapMB: 512}, "concurrent_counter_writes: 128", "counter_cache_size: 64MiB",
		"counter_write_request_timeout: 1500ms", "# The default is 8 GiB; several test nodes share a disk.")
	for _, l := range settings(t, &Cassandra{Dir: "/x"}) {
		if strings.Contains(l, "timeout") {
			t.Errorf("%q: want the server's own", l)
		}
	}
	has(&Cassandra{Dir: "/x", CommitlogSync: "periodic"}, "commitlog_sync: periodic", "commitlog_sync_period: 10000ms")
}

// Only the settings of the chosen sync mode are written: Cassandra refuses to start with those of another.
func TestCassandraYAMLHasOneSyncMode(t *testing.T) {
	for mode, alien := range map[string]string{
		"group": "commitlog_sync_period", "batch": "commitlog_sync_", "periodic": "commitlog_sync_group_window"} {
		for _, l := range settings(t, &Cassandra{Dir: "/x", CommitlogSync: mode}) {
			if strings.HasPrefix(l, alien) {
				t.Errorf("%s: %q", mode, l)
			}
		}
	}
	c := (&Cassandra{Dir: t.TempDir(), CommitlogSync: "perodic"}).withDefaults()
	if _, err := c.commandLine(t.Context()); err == nil || !strings.Contains(err.Error(), "group, batch or periodic") {
		t.Errorf("a misspelt mode: %v", err)
	}
}

func TestKafkaProperties(t *testing.T) {
	has := func(k *Kafka, cluster *Cluster, want ...string) {
		t.Helper()
		b, err := k.withDefaults().properties(cluster, "/x/data", "")
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(b), "\n")
		for _, w := range want {
			if !slices.Contains(lines, w) {
				t.Errorf("no line %q in\n%s", w, b)
			}
		}
	}
	has(&Kafka{}, &Cluster{"", []int{9}}, "advertised.listeners=PLAINTEXT://127.0.0.1:9092", "log.dirs=/x/data", "node.id=1",
		"controller.quorum.voters=1@127.0.0.1:9", "auto.create.topics.enable=false", "offsets.topic.replication.factor=1",
		"default.replication.factor=1", "min.insync.replicas=1", "unclean.leader.election.enable=false")
	has(&Kafka{Port: 2, Node: 2}, &Cluster{"", []int{7, 8, 9}}, "listeners=PLAINTEXT://127.0.0.1:2,CONTROLLER://127.0.0.1:8", "node.id=2",
		"controller.quorum.voters=1@127.0.0.1:7,2@127.0.0.1:8,3@127.0.0.1:9", "offsets.topic.replication.factor=3",
		"transaction.state.log.replication.factor=3", "transaction.state.log.min.isr=2", "default.replication.factor=3", "min.insync.replicas=2")
	has(&Kafka{Node: 5}, &Cluster{"", []int{1, 2, 3, 4, 5}}, "default.replication.factor=3", "min.insync.replicas=2")
	if _, err := render(kafkaProperties, map[string]any{"Port": 9092}); err == nil {
		t.Error("rendered with values missing")
	}
}

func TestClusterIDs(t *testing.T) {
	for range 1000 {
		if id := NewClusterID(); len(id) != 22 || strings.HasPrefix(id, "-") {
			t.Fatalf("%q", id)
		}
	}
}

func TestFreePorts(t *testing.T) {
	ports, err := FreePorts(5, "127.0.0.1", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ports)
	if len(slices.Compact(ports)) != 5 || ports[0] < firstPort || ports[4] >= lastPort {
		t.Fatalf("%v", ports)
	}
	if _, err := FreePorts(1, "192.0.2.1"); err == nil {
		t.Fatal("found a free port on an address that is not of this machine")
	}
}

// Cassandra gives up its first look for the ring after the ring delay: a node that is no seed needs seconds for it on a busy machine.
func TestNodesThatAreNoSeedsWaitForOne(t *testing.T) {
	f := func(c Cassandra, want time.Duration) {
		t.Helper()
		if got := c.withDefaults().ringDelay(); got != want {
			t.Errorf("%s with seeds %v waits %v, want %v", c.Address, c.Seeds, got, want)
		}
	}
	f(Cassandra{}, 100*time.Millisecond)
	f(Cassandra{Address: "127.0.0.1", Seeds: []string{"127.0.0.1"}}, 100*time.Millisecond)
	f(Cassandra{Address: "127.0.0.2", Seeds: []string{"127.0.0.1"}}, 5*time.Second)
}
