package faults

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/test/faults/wire"
)

// Cassandra stops for longer than every timeout: what it had got is applied after everybody has given it up.
func cassandraPaused(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	victim := w.addConsumer(t)
	w.addConsumer(t)
	w.members(t, 2)
	load := w.send(t, 4)
	w.progress(t, "starting")
	unanswered := w.pauseCassandra(t, victim)
	time.Sleep(20 * time.Second) // this is the fault
	if err := s.nodes[0].Resume(); err != nil {
		t.Fatal(err)
	}
	end := time.Now()
	load.end(t)
	w.equal(t, r, end)
	late := w.late()
	r.hits = "1 of 1"
	r.note = fmt.Sprintf("%d writes applied after they had been given up, the last %.1f s after it went on", late.Writes, late.Last.Sub(end).Seconds())
	if unanswered == 0 || late.Writes == 0 || r.doubts == 0 {
		t.Errorf("%d writes under way, %d late, %d doubts: nothing was tested", unanswered, late.Writes, r.doubts)
	}
}

// Cassandra stops, the consumer dies meanwhile, and nobody is left who knows what was under way.
func pausedAndKilled(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	victim := w.addConsumer(t)
	w.addConsumer(t)
	w.members(t, 2)
	load := w.send(t, 5)
	w.progress(t, "starting")
	rounds, hits, under := 2, 0, 0
	var end time.Time
	for range rounds {
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

// pauseCassandra stops it in the midst of a flush of c and tells how many writes were under way.
func (w *world) pauseCassandra(t *testing.T, c *consumer) int {
	t.Helper()
	t.Cleanup(func() { _ = w.nodes[0].Resume() }) // it fails only if it has ended
	return midFlush(t, c, w.nodes[0].Pause)
}

// Cassandra crashes in the midst of a flush. Tables flushed to disk before make their half of a write durable, whatever
// becomes of the commit log.
func cassandraKilled(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	end := w.crashCassandra(t, r, times(3, 1), 6)
	w.equal(t, r, end)
	if r.doubts == 0 {
		t.Error("no doubts: nothing was tested")
	}
}

// The same where Cassandra acknowledges writes before they are on disk. Nothing is promised, so nothing can fail but the
// test itself; the table tells what was lost, and whether the audit saw it.
func cassandraPeriodic(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	s.restartCassandra(t, "periodic")
	end := w.crashCassandra(t, r, 3, 7)
	w.patience = 20 * time.Second // nobody promised to repair it; what a doubt's first check finds is worth waiting for
	w.judge(t, r, end)
	if n := w.said(t, "counts are exact only while no Cassandra node crashes"); n == 0 {
		t.Error("no consumer warned that the store is not durable")
	}
	for _, c := range w.consumers {
		c.end()
	}
}

// crashCassandra kills and restarts Cassandra so many times while events are counted, and tells when it was back last. It
// comes by turns in the midst of a flush, and right after one was acknowledged: the first loses what nobody was sure of,
// the second what everybody was.
func (w *world) crashCassandra(t *testing.T, r *row, rounds int, seed uint64) (end time.Time) {
	t.Helper()
	victim := w.addConsumer(t)
	w.addConsumer(t)
	w.members(t, 2)
	load := w.sendAt(t, seed, plenty, rate/2) // what comes in while Cassandra is away has to be caught up with
	w.progress(t, "starting")
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

// killAcknowledged kills it as soon as a flush of c is acknowledged.
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

// flushTables writes some tables, not all of a key's, from memory to disk.
func (w *world) flushTables(t *testing.T) {
	t.Helper()
	links := []string{"clickcounter", "hourcounters", "daycounters", "countrycounters", "referrercounters", "uniquecounter", "applied"}
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

// restartCassandra stops the node in peace and starts it with another commitlog_sync.
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

// Cassandra's answers are lost on the way: it has counted what nobody knows of.
func repliesCut(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	victim := w.addConsumer(t)
	w.addConsumer(t)
	w.members(t, 2)
	load := w.send(t, 8)
	w.progress(t, "starting")
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

// cutReplies loses answers in the midst of a flush, for a second, then the connections; so many times. It tells how often
// an answer to a counter write was lost, and when it was over.
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
