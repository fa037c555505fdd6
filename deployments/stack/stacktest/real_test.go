package stacktest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gocql/gocql"
	"github.com/segmentio/kafka-go"

	"footfall/deployments/stack"
	"footfall/deployments/stack/stacktest"
)

// Start finds a running stack and does not start another.
func TestStartFindsTheSharedStack(t *testing.T) {
	stacktest.Require(t)
	dir := filepath.Join("..", "..", "..", ".stack")
	kafka, cassandra := &stack.Kafka{Dir: dir}, &stack.Cassandra{Dir: dir}
	for name, s := range map[string]interface {
		Start(context.Context) error
		PID() (int, error)
	}{"kafka": kafka, "cassandra": cassandra} {
		before, err := s.PID()
		if errors.Is(err, stack.ErrNotRunning) {
			t.Skipf("%s answers but runs elsewhere, perhaps in compose", name)
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after, err := s.PID(); err != nil || after != before {
			t.Errorf("%s: pid %d after %d, %v", name, after, before, err)
		}
	}
}

func TestKafkaKeepsItsDataThroughAKill(t *testing.T) {
	slow(t)
	k := stacktest.Kafka(t)
	client := &kafka.Client{Addr: kafka.TCP(k.Addr()), Timeout: 10 * time.Second}
	made, err := client.CreateTopics(t.Context(), &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: "kept", NumPartitions: 1, ReplicationFactor: 1}}})
	if err != nil || made.Errors["kept"] != nil {
		t.Fatal(err, made)
	}
	conn := leader(t, k.Addr())
	if _, err := conn.WriteMessages(kafka.Message{Value: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if err := k.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := stack.AskKafka(t.Context(), k.Addr()); err == nil {
		t.Fatal("the broker answers after the kill")
	}
	if err := k.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if last, err := leader(t, k.Addr()).ReadLastOffset(); err != nil || last != 1 {
		t.Fatalf("last offset %d, %v; want 1", last, err)
	}
}

// leader connects to the leader of the topic's partition, and waits until there is one.
func leader(t *testing.T, addr string) *kafka.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		conn, err := kafka.DialLeader(ctx, "tcp", addr, "kept", 0)
		if err == nil {
			t.Cleanup(func() { _ = conn.Close() })
			return conn
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestCassandraKeepsItsDataThroughAKill(t *testing.T) {
	slow(t)
	c := stacktest.Cassandra(t, 1)[0]
	session := connect(t, c, gocql.One)
	exec(t, session, `CREATE KEYSPACE kept WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}`)
	exec(t, session, `CREATE TABLE kept.c (k text PRIMARY KEY, v counter)`)
	exec(t, session, `UPDATE kept.c SET v = v + 7 WHERE k = 'a'`)
	if _, err := c.Nodetool(t.Context(), "flush", "kept", "c"); err != nil {
		t.Fatal(err)
	}
	if out, err := c.Nodetool(t.Context(), "tablestats", "kept.c"); err != nil || !strings.Contains(out, "SSTable count: 1") {
		t.Fatalf("nothing was flushed (%v):\n%s", err, out)
	}
	exec(t, session, `UPDATE kept.c SET v = v + 1 WHERE k = 'a'`)
	session.Close() // else it would log every second that the node is gone
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var variant string // the setting as the server reports it
	if err := connect(t, c, gocql.One).Query(`SELECT value FROM system_views.settings WHERE name = 'paxos_variant'`).Scan(&variant); err != nil || variant != "v2" {
		t.Errorf("paxos_variant is %q, %v", variant, err)
	}
	var v int64
	if err := connect(t, c, gocql.One).Query(`SELECT v FROM kept.c WHERE k = 'a'`).Scan(&v); err != nil || v != 8 {
		t.Fatalf("counter %d, %v; want 8", v, err)
	}
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := stack.AskCassandra(t.Context(), c.Address, c.Port); err == nil {
		t.Fatal("the node answers while paused")
	}
	if err := c.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitUp(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
}

// A cluster of three answers when one node is killed. It takes a minute and two gigabytes, so it runs with the tests of faults.
func TestThreeNodesSurviveTheLossOfOne(t *testing.T) {
	if os.Getenv("FOOTFALL_TEST_FAULTS") == "" {
		t.Skip("set FOOTFALL_TEST_FAULTS=1 to start three Cassandra nodes")
	}
	nodes := stacktest.Cassandra(t, 3)
	all := connect(t, nodes[0], gocql.All)
	exec(t, all, `CREATE KEYSPACE kept WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}`)
	exec(t, all, `CREATE TABLE kept.c (k text PRIMARY KEY, v counter)`)
	exec(t, all, `UPDATE kept.c SET v = v + 1 WHERE k = 'a'`)
	if err := nodes[2].Kill(); err != nil {
		t.Fatal(err)
	}
	exec(t, connect(t, nodes[0], gocql.Quorum), `UPDATE kept.c SET v = v + 1 WHERE k = 'a'`)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := nodes[2].Start(ctx); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if err := n.AwaitUp(ctx, 3); err != nil {
			t.Fatal(err)
		}
	}
	var v int64
	if err := connect(t, nodes[2], gocql.All).Query(`SELECT v FROM kept.c WHERE k = 'a'`).Scan(&v); err != nil || v != 2 {
		t.Fatalf("counter %d, %v; want 2", v, err)
	}
}

func slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a server: not with -short")
	}
}

// connect opens a session to one node, with this consistency.
func connect(t *testing.T, c *stack.Cassandra, consistency gocql.Consistency) *gocql.Session {
	t.Helper()
	cluster := gocql.NewCluster(c.Address)
	cluster.Port, cluster.ProtoVersion, cluster.Timeout = c.Port, 4, 10*time.Second
	cluster.Consistency, cluster.DisableInitialHostLookup = consistency, true
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

func exec(t *testing.T, s *gocql.Session, cql string) {
	t.Helper()
	if err := s.Query(cql).Exec(); err != nil {
		t.Fatalf("%s: %v", cql, err)
	}
}
