package faults

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	"footfall/deployments/stack"
	"footfall/deployments/stack/stacktest"
	"footfall/test/e2e/dump"
	"footfall/test/e2e/oracle"
	"footfall/test/e2e/process"
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
	pause, err := process.Start(process.Command{Name: "pause", Path: binaries.Path(t, "consumer"), Args: []string{"pause", "--wait", "10m"}, Env: w.env, Dir: w.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer pause.Kill()
	time.Sleep(time.Until(begun.Add(20 * time.Second))) // longer than every timeout
	w.snapshot(t, pause, s.nodes[2].Resume)
	end := time.Now()
	load.end(t)
	r.hits = "1 kill, 1 pause"
	r.note = fmt.Sprintf("all partitions counted on %.1f s after the kill, %.1f s after the pause, with one node down", killed.Seconds(), paused.Seconds())
	w.equal(t, r, end)
	if r.doubts == 0 {
		t.Error("no write became doubtful: nothing was tested")
	}
}

// snapshot takes a snapshot of all nodes during a pause, which must not begin before resume wakes up the node that hangs: writes of unknown outcome
// that wait in it would land in the midst of the snapshot.
func (w *world) snapshot(t *testing.T, pause *process.Process, resume func() error) {
	t.Helper()
	held := regexp.MustCompile(`(take the snapshot on every node now)`)
	if _, err := pause.Expect(patiently(t), regexp.MustCompile(`(counting is not paused yet: )`)); err != nil {
		t.Fatal(err)
	}
	if said, err := pause.Printed(); err != nil || held.MatchString(said) {
		t.Errorf("beside a node that hangs, pause says (%v)\n%s", err, said)
	}
	if err := resume(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute) // a check without that node is made again after a minute
	defer cancel()
	if _, err := pause.Expect(ctx, held); err != nil {
		t.Fatal(err)
	}
	before := w.cells(t)
	for _, n := range w.nodes {
		if _, err := n.Nodetool(patiently(t), "snapshot", "-t", "whole", "footfall_"+w.name, "urlshortener_"+w.name, "cardinality_"+w.name); err != nil {
			t.Error(err)
		}
	}
	if diff := oracle.Diff(before, w.cells(t)); len(diff) > 0 {
		t.Errorf("%d cells changed during the snapshot, such as %s", len(diff), diff[0])
	}
	if err := pause.Stop(time.Minute); err != nil {
		t.Errorf("%v\n%s", err, pause.Tail(10))
	}
}

// cells reads all counters.
func (w *world) cells(t *testing.T) oracle.Cells {
	t.Helper()
	session, err := w.session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	got, err := dump.Cassandra(t.Context(), session, "_"+w.name)
	if err != nil {
		t.Fatal(err)
	}
	return got.Cells
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
