package faults

import (
	"fmt"
	"testing"
	"time"

	"footfall/deployments/stack"
	"footfall/deployments/stack/stacktest"
)

// Three nodes, each with all data. One is killed, later another is paused; the remaining two are a quorum, so counting goes on. gocql
// connects to the addresses that the nodes announce, so there can be no proxy: doubts show that a fault hit a write.
func threeNodes(t *testing.T, s servers, r *row) {
	s.nodes = stacktest.Cassandra(t, 3)
	w := newWorld(t, s, "FOOTFALL_CASSANDRA_REPLICATION={'class': 'SimpleStrategy', 'replication_factor': 3}",
		"FOOTFALL_CASSANDRA_HOSTS=127.0.0.1,127.0.0.2,127.0.0.3",
		"FOOTFALL_CHUNK_MAX_AGE=2s") // three nodes share the machine and each writes all data, so fewer and larger flushes
	w.startConsumer(t, "consumer")
	w.startConsumer(t, "consumer")
	w.members(t, 2)
	load := w.sendAt(t, 16, plenty, rate/4) // and fewer events, for the same reason
	w.progress(t, "starting")

	begun := time.Now()
	if err := s.nodes[1].Kill(); err != nil {
		t.Fatal(err)
	}
	w.countsOn(t, "a node was killed")
	killed := time.Since(begun)
	restart(t, s.nodes[1])
	awaitUp(t, s.nodes) // with two nodes down there would be no quorum
	w.progress(t, "the node came back")

	begun = time.Now()
	t.Cleanup(func() { _ = s.nodes[2].Resume() }) // it fails only if it has ended
	if err := s.nodes[2].Pause(); err != nil {
		t.Fatal(err)
	}
	w.countsOn(t, "a node was paused")
	paused := time.Since(begun)
	time.Sleep(time.Until(begun.Add(20 * time.Second))) // longer than every timeout
	if err := s.nodes[2].Resume(); err != nil {
		t.Fatal(err)
	}
	end := time.Now()
	load.end(t)
	r.hits = "1 kill, 1 pause"
	r.note = fmt.Sprintf("all partitions counted on %.1f s after the kill, %.1f s after the pause, with one node down", killed.Seconds(), paused.Seconds())
	w.equal(t, r, end)
	if r.doubts == 0 {
		t.Error("no write became doubtful: nothing was tested")
	}
}

// countsOn waits for chunks that were begun after the fault. It waits for two commits: the first may be of a chunk written before.
func (w *world) countsOn(t *testing.T, what string) {
	t.Helper()
	w.progress(t, what)
	w.progress(t, what)
}

// restart starts a node that was in the cluster before. The node gives up if the others' gossip does not come at once, which happens on
// a busy machine: then it is started again.
func restart(t *testing.T, n *stack.Cassandra) {
	t.Helper()
	var err error
	for range 4 {
		if err = n.Start(patiently(t)); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// awaitUp waits until the nodes see each other.
func awaitUp(t *testing.T, nodes []*stack.Cassandra) {
	t.Helper()
	for _, n := range nodes {
		if err := n.AwaitUp(patiently(t), len(nodes)); err != nil {
			t.Fatal(err)
		}
	}
}
