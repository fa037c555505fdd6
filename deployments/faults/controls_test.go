package faults

import (
	"strconv"
	"testing"
	"time"

	"footfall/deployments/faults/wire"
)

// addControl starts a consumer that lacks a safeguard.
func (w *world) addControl(t *testing.T, safeguard string) *consumer {
	t.Helper()
	proxy, err := wire.New(w.nodes[0].Address+":0", w.nodes[0].Addr())
	if err != nil {
		t.Fatal(err)
	}
	c := w.startConsumer(t, "control", "FOOTFALL_TEST_CONTROL="+safeguard, "FOOTFALL_CASSANDRA_PORT="+strconv.Itoa(proxy.Port()))
	c.proxy = proxy
	return c
}

// wrong is judge, for consumers that the oracle must find wrong.
func (w *world) wrong(t *testing.T, r *row) {
	t.Helper()
	w.caughtUp(t)
	diff, read := w.compare(t)
	r.control, r.events, r.cells, r.wrong = true, read.events, len(read.oracle.Cells()), len(diff)
	r.duplicates = read.duplicates
	w.audit(t, r)
	if len(diff) == 0 {
		t.Error("the oracle found nothing wrong: it could not see a fault either")
	}
	for _, c := range w.consumers {
		c.end()
	}
}

// Without the ledger a successor counts the whole chunk again, of which half was written.
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

// A visitor who is taken for remembered, and is not, has no row for ever.
func controlVisitors(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	victim := w.addControl(t, "acknowledged-visitors")
	load := w.send(t, 15)
	w.progress(t, "starting")
	var killing error
	hit(t, victim.proxy.During(wire.Visitors, 10, func(int) { killing = s.nodes[0].Kill() }))
	if killing != nil {
		t.Fatal(killing)
	}
	if err := s.nodes[0].Start(patiently(t)); err != nil {
		t.Fatal(err)
	}
	load.end(t)
	r.hits = "1 of 1"
	w.wrong(t, r)
}
