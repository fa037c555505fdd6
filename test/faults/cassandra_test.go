package faults

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/test/faults/wire"
)

// Cassandra is paused for longer than every timeout. It applies the writes it had received after the consumers have given them up. Where a
// pause comes between two answers there may be no such write; then Cassandra is paused again.
func cassandraPaused(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	victim, _, load := w.startTwo(t, 4, rate)
	var end time.Time
	rounds, unanswered := 0, 0
	for rounds < 3 && w.late().Writes == 0 {
		rounds++
		unanswered += w.pauseCassandra(t, victim)
		time.Sleep(20 * time.Second) // this is the fault
		if err := s.nodes[0].Resume(); err != nil {
			t.Fatal(err)
		}
		end = time.Now()
		w.progress(t, "resuming")
	}
	load.end(t)
	w.equal(t, r, end)
	late := w.late()
	r.hits = fmt.Sprintf("%d of %d", min(1, late.Writes), rounds)
	r.note = fmt.Sprintf("%d writes applied after they had been given up, the last %.1f s after the pause", late.Writes, late.Last.Sub(end).Seconds())
	if unanswered == 0 || late.Writes == 0 || r.doubts == 0 {
		t.Errorf("%d writes under way, %d late, %d doubts: nothing was tested", unanswered, late.Writes, r.doubts)
	}
}

// Cassandra is paused and the consumer is killed meanwhile: no process is left that knows which writes were under way.
func pausedAndKilled(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	victim, _, load := w.startTwo(t, 5, rate)
	rounds, hits, under := 0, 0, 0
	var end time.Time
	for rounds < 2 || rounds < 4 && w.late().Writes == 0 {
		rounds++
		w.collect(victim)
		n := w.pauseCassandra(t, victim)
		hits, under = hits+min(1, n), under+n
		victim.Kill()
		time.Sleep(time.Duration(1+rand.IntN(4)) * time.Second)
		if err := s.nodes[0].Resume(); err != nil {
			t.Fatal(err)
		}
		end = time.Now()
		w.progress(t, "resuming")
		victim = w.addConsumer(t)
		w.members(t, 2)
		w.progress(t, "joining")
	}
	load.end(t)
	w.equal(t, r, end)
	late := w.late()
	r.hits = fmt.Sprintf("%d of %d", hits, rounds)
	r.note = fmt.Sprintf("%d writes applied after their consumer was dead", late.Writes)
	if under == 0 || late.Writes == 0 {
		t.Errorf("%d writes under way, %d late: nothing was tested", under, late.Writes)
	}
}

// pauseCassandra pauses the node in the midst of a flush of c and returns how many writes were under way.
func (w *world) pauseCassandra(t *testing.T, c *consumer) int {
	t.Helper()
	t.Cleanup(func() { _ = w.nodes[0].Resume() }) // it fails only if it has ended
	return midFlush(t, c, w.nodes[0].Pause)
}

// Cassandra crashes in the midst of a flush. Before that, some tables are flushed to disk: their part of a write is then durable
// even if the commit log loses the rest.
func cassandraKilled(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	end := w.crashCassandra(t, r, times(3, 1), 6)
	w.equal(t, r, end)
	if r.doubts == 0 {
		t.Error("no doubts: nothing was tested")
	}
}

// The same with a Cassandra that acknowledges writes before they are on disk. Exact counts are not promised then, so wrong cells do
// not fail the test: the table reports what was lost and whether the audit found it.
func cassandraPeriodic(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	s.restartCassandra(t, "periodic")
	end := w.crashCassandra(t, r, 3, 7)
	w.patience = 20 * time.Second // repairs are not promised here: wait for the first check of doubts only
	w.judge(t, r, end)
	if n := w.said(t, "counts are exact only while no Cassandra node crashes"); n == 0 {
		t.Error("no consumer warned that the store is not durable")
	}
	for _, c := range w.consumers {
		c.end()
	}
}

// crashCassandra kills and restarts Cassandra rounds times while events are counted, and returns when it was back last. The kills come
// in turn in the midst of a flush, when writes are unacknowledged, and right after one, when all are acknowledged.
func (w *world) crashCassandra(t *testing.T, r *row, rounds int, seed uint64) (end time.Time) {
	t.Helper()
	victim, _, load := w.startTwo(t, seed, rate/2) // slowly: the consumers have to catch up after each restart
	midst, after := 0, 0
	for i := range rounds {
		w.flushTables(t)
		if i%2 == 0 {
			midst += min(1, midFlush(t, victim, w.nodes[0].Kill))
		} else {
			w.killAcknowledged(t, victim)
			after++
		}
		if err := w.nodes[0].Start(patiently(t)); err != nil {
			t.Fatal(err)
		}
		end = time.Now()
		w.progress(t, "restarting Cassandra")
	}
	load.end(t)
	if midst == 0 {
		t.Error("no kill hit a flush: nothing was tested")
	}
	r.hits = fmt.Sprintf("%d of %d", midst+after, rounds)
	r.note = fmt.Sprintf("%d in the midst of a flush, %d right after one", midst, after)
	return end
}

// killAcknowledged kills Cassandra as soon as a flush of c is acknowledged.
func (w *world) killAcknowledged(t *testing.T, c *consumer) {
	t.Helper()
	hit(t, c.proxy.During(wire.Counters, midst(), func(int) {}))
	for deadline := time.Now().Add(flushPatience); !c.proxy.Quiet(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the flush does not end")
		}
	}
	if err := w.nodes[0].Kill(); err != nil {
		t.Fatal(err)
	}
}

// flushTables makes Cassandra write some of the tables that a key has, not all, from memory to disk.
func (w *world) flushTables(t *testing.T) {
	t.Helper()
	links := []string{"clickcounter", "hourcounters", "daycounters", "countrycounters", "referrercounters", "monthcounters", "uniquecounter", "applied"}
	rand.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
	site := []string{"counts", "applied"}[rand.IntN(2)]
	var both errgroup.Group // a nodetool takes seconds to start
	for _, args := range [][]string{append([]string{"flush", "urlshortener_" + w.name}, links[:3]...), {"flush", "cardinality_" + w.name, site}} {
		both.Go(func() error {
			_, err := w.nodes[0].Nodetool(patiently(t), args...)
			return err
		})
	}
	if err := both.Wait(); err != nil {
		t.Fatal(err)
	}
}

// restartCassandra stops the node cleanly and starts it with another commitlog_sync.
func (s servers) restartCassandra(t *testing.T, sync string) {
	t.Helper()
	if err := s.nodes[0].Stop(patiently(t)); err != nil {
		t.Fatal(err)
	}
	s.nodes[0].CommitlogSync = sync
	if err := s.nodes[0].Start(patiently(t)); err != nil {
		t.Fatal(err)
	}
}

// Cassandra's answers are lost on the way: it has applied writes that no consumer knows to be applied.
func repliesCut(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	victim, _, load := w.startTwo(t, 8, rate)
	const rounds = 3
	hits, end := w.cutReplies(t, victim, rounds)
	load.end(t)
	swallowed := victim.proxy.Swallowed()
	r.hits, r.note = fmt.Sprintf("%d of %d", hits, rounds), fmt.Sprintf("%d answers to counter writes lost", swallowed)
	w.equal(t, r, end)
	if swallowed == 0 || r.doubts == 0 {
		t.Errorf("%d answers lost, %d doubts: nothing was tested", swallowed, r.doubts)
	}
}

// cutReplies drops Cassandra's answers to c for a second, beginning in the midst of a flush, and then cuts the connections; rounds times.
// It returns in how many rounds an answer to a counter write was lost, and when the last ended.
func (w *world) cutReplies(t *testing.T, c *consumer, rounds int) (hits int, end time.Time) {
	t.Helper()
	for range rounds {
		before := c.proxy.Swallowed()
		hit(t, c.proxy.During(wire.Counters, midst(), func(int) { c.proxy.Mute() }))
		time.Sleep(time.Second)
		c.proxy.Cut()
		c.proxy.Unmute()
		end = time.Now()
		hits += int(min(1, c.proxy.Swallowed()-before))
		w.progress(t, "losing replies")
	}
	return hits, end
}
