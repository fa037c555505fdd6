package faults

import (
	"fmt"
	"testing"
	"time"

	"footfall/test/faults/wire"
)

// Connections to Cassandra are cut again and again: in the midst of a flush, which leaves writes of unknown outcome, and twice more, a
// second apart, while the consumers reconnect and read the ledger.
func flapping(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	victim, other, load := w.startTwo(t, 19, rate/2) // slowly: the consumers have to catch up afterwards
	const rounds = 6
	hits, writes, begun := 0, 0, time.Now()
	for range rounds {
		hit(t, victim.proxy.During(wire.Counters, midst(), func(n int) {
			hits, writes = hits+min(1, n), writes+n
			victim.proxy.Cut()
			other.proxy.Cut()
		}))
		for range 2 {
			time.Sleep(time.Second) // this is the fault
			victim.proxy.Cut()
			other.proxy.Cut()
		}
	}
	end := time.Now()
	w.progress(t, "flapping")
	counting := time.Since(end)
	load.end(t)
	w.equal(t, r, end)
	r.hits = fmt.Sprintf("%d of %d", hits, rounds)
	r.note = fmt.Sprintf("%d cuts in %.1f s, %d counter writes without an answer; all partitions counted on within %.1f s; %d generations of members",
		3*rounds, end.Sub(begun).Seconds(), writes, counting.Seconds(), int(w.gone["footfall_generations_total"]))
	if hits == 0 || r.doubts == 0 {
		t.Errorf("%d cuts hit a flush, %d doubts: nothing was tested", hits, r.doubts)
	}
}
