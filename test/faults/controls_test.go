package faults

import (
	"fmt"
	"testing"
	"time"

	"footfall/test/faults/wire"
	"footfall/test/harness"
)

// addControl starts a consumer that lacks a safeguard.
func (w *world) addControl(t *testing.T, safeguard string, env ...string) *consumer {
	t.Helper()
	return w.addBehindProxy(t, "control", append(env, "FOOTFALL_TEST_CONTROL="+safeguard)...)
}

// wrong is judge for controls: the oracle must find wrong cells.
func (w *world) wrong(t *testing.T, r *row) {
	t.Helper()
	w.caughtUp(t)
	w.firstChecks(t) // cells that the consumers repair are not wrong
	diff, read := w.compare(t)
	r.events, r.cells, r.wrong = read.events, len(read.oracle.Cells()), len(diff)
	r.duplicates, r.dead = read.duplicates, read.dead
	w.audit(t, r)
	if len(diff) == 0 {
		t.Error("the oracle found no wrong cell: it would miss a fault of the product too")
	}
	for _, c := range w.consumers {
		c.end()
	}
}

// Without the ledger a successor counts the whole chunk again, although half of it was written.
func controlLedger(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	victim := w.addControl(t, "ledger")
	load := w.send(t, 13)
	w.progress(t, "starting")
	hit(t, victim.proxy.During(wire.Counters, midst(), func(int) { victim.Kill() }))
	w.addControl(t, "ledger")
	w.progress(t, "taking over")
	load.end(t)
	r.hits = "1 of 1"
	w.wrong(t, r)
}

// Writes whose answer was lost are applied twice if they are just sent again.
func controlRetry(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	victim := w.addControl(t, "doubt")
	load := w.send(t, 14)
	w.progress(t, "starting")
	hit(t, victim.proxy.During(wire.Counters, midst(), func(int) { victim.proxy.Mute() }))
	time.Sleep(time.Second)
	victim.proxy.Cut()
	victim.proxy.Unmute()
	load.end(t)
	r.hits = "1 of 1"
	w.wrong(t, r)
}

// A driver with a retry policy does the same: answers are lost for longer than its timeout, it sends the write again, and reports no
// failure that would become a doubt.
func controlDriver(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	const timeout = 2 * time.Second
	victim := w.addControl(t, "one-attempt", "FOOTFALL_CASSANDRA_TIMEOUT="+timeout.String())
	load := w.send(t, 17)
	w.progress(t, "starting")
	hit(t, victim.proxy.During(wire.Counters, midst(), func(int) { victim.proxy.Mute() }))
	time.Sleep(timeout * 3 / 2)
	victim.proxy.Unmute()
	w.progress(t, "losing answers")
	load.end(t)
	r.hits = "1 of 1"
	w.wrong(t, r)
	if n := w.said(t, "flush failed"); n > 0 {
		t.Errorf("%d flushes failed: it was not the driver that tried again", n)
	}
}

// A visitor whose insert was lost, and whom the consumer takes for stored, never gets a row.
func controlVisitors(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	const timeout = 2 * time.Second
	victim := w.addControl(t, "acknowledged-visitors", "FOOTFALL_CASSANDRA_TIMEOUT="+timeout.String())
	load := w.send(t, 15)
	w.progress(t, "starting")
	victim.proxy.Lose(wire.Visitors, 30) // of few of them the visitors come again
	harness.Within(t, flushPatience, "losing inserts", func() error {
		if n := victim.proxy.Unlost(wire.Visitors); n > 0 {
			return fmt.Errorf("%d inserts are still to be lost", n)
		}
		return nil
	})
	w.progress(t, "losing inserts")
	w.addConsumer(t) // and rows of visitors are read again by both
	w.members(t, 2)
	w.progress(t, "joining")
	load.end(t)
	r.hits = "30 inserts"
	w.wrong(t, r)
}

// The names of what was counted in the last seconds before a kill are never listed if that is left for later.
func controlNames(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	victim := w.addControl(t, "listed-names")
	load := w.send(t, 16)
	w.progress(t, "starting")
	hit(t, victim.proxy.During(wire.Counters, midst(), func(int) { victim.Kill() }))
	w.addConsumer(t)
	w.progress(t, "taking over")
	load.end(t)
	r.hits = "1 of 1"
	w.wrong(t, r)
}
