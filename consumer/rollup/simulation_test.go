package rollup

import (
	"context"
	"flag"
	"maps"
	"testing"
	"testing/synctest"

	"footfall/models"
)

var (
	simSeeds = flag.Int("sim.seeds", 100, "how many seeds the simulation plays")
	simSeed  = flag.Int("sim.seed", -1, "play this seed only, and tell what happens")
)

// The simulation plays the rollup's own code against a log, a group and a store that do what no test bench can be made to
// do: writes that apply and then fail, fail and then apply late, requests half applied, stores that restart, owners that
// crash, leave clean, or pause and wake up as zombies at any step, events doubled, checks whose own repairs fail. All of it
// follows from one seed. Afterwards every counter must equal the log, and every covered offset must make 1.
func TestSimulation(t *testing.T) {
	first, last := 0, *simSeeds
	if *simSeed >= 0 {
		first, last = *simSeed, *simSeed+1
	}
	var total outcomes
	for seed := first; seed < last; seed++ {
		o, err := play(t, seed, controls{})
		if err != nil {
			t.Fatalf("seed %d: %v\nreplay it: go test ./consumer/rollup -run TestSimulation -sim.seed %d -v", seed, err, seed)
		}
		total.add(o)
	}
	t.Logf("%d seeds: %+v", last-first, total)
	if *simSeed < 0 && last-first >= 100 && (total.Repaired == 0 || total.Late == 0 || total.Zombies == 0 || total.Crashes == 0 || total.CleanExits == 0) {
		t.Errorf("the simulation tries too little: %+v", total)
	}
}

// The same seed must play the same, or a failure could not be looked at.
func TestSimulationReplays(t *testing.T) {
	for seed := range 5 {
		a, errA := play(t, seed, controls{})
		b, errB := play(t, seed, controls{})
		if a != b || errA != nil || errB != nil {
			t.Errorf("seed %d played as %+v (%v), then as %+v (%v)", seed, a, errA, b, errB)
		}
	}
}

// controls break the rollup on purpose. Each must be caught, or the simulation is blind.
type controls struct {
	noLedger    bool // positions are not kept
	blindRetry  bool // a write of unknown outcome is sent again
	earlyLRU    bool // a visitor is remembered before its row is stored
	shrinks     bool // a repair shrinks an owner's row instead of writing its own
	forgetful   bool // a restart of the store loses acknowledged writes
	noRechecks  bool // doubts are never looked at
	noDuplicate bool // ids are not looked at
}

func TestSimulationSees(t *testing.T) {
	f := func(name string, c controls) {
		t.Run(name, func(t *testing.T) {
			const seeds = 20
			wrong := 0
			for seed := range seeds {
				if _, err := play(t, seed, c); err != nil {
					wrong++
				}
			}
			t.Logf("%d of %d seeds wrong", wrong, seeds)
			if wrong == 0 {
				t.Errorf("%s goes unnoticed", name)
			}
		})
	}
	f("ledger off", controls{noLedger: true})
	f("blind retry", controls{blindRetry: true})
	f("LRU filled before the insert", controls{earlyLRU: true})
	f("repair shrinks an owner's row", controls{shrinks: true})
	f("store loses acknowledged writes", controls{forgetful: true})
	f("doubts never checked, no audit", controls{noRechecks: true})
	f("duplicates counted", controls{noDuplicate: true})
}

// outcomes counts what happened in a play.
type outcomes struct {
	Steps, Writes, Unknown, Late, Restarts, Crashes, CleanExits, Zombies, Doubts, Repaired, ByAudit int
}

func (o *outcomes) add(p outcomes) {
	o.Steps += p.Steps
	o.Writes += p.Writes
	o.Unknown += p.Unknown
	o.Late += p.Late
	o.Restarts += p.Restarts
	o.Crashes += p.Crashes
	o.CleanExits += p.CleanExits
	o.Zombies += p.Zombies
	o.Doubts += p.Doubts
	o.Repaired += p.Repaired
	o.ByAudit += p.ByAudit
}

// play plays one seed and compares.
func play(t *testing.T, seed int, c controls) (out outcomes, err error) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(seed, c)
		if *simSeed >= 0 {
			w.tell = t.Logf
		}
		out, err = w.run(t.Context())
	})
	return out, err
}

// truth counts the log naively.
func (w *world) truth() map[models.Key]map[models.Cell]int64 {
	want := map[models.Key]map[models.Cell]int64{}
	seen := map[models.Sighting]bool{}
	for _, p := range w.partitions {
		for offset, event := range w.log[p] {
			if w.duplicate(p, offset) {
				continue
			}
			var first []bool
			for _, s := range event.Sightings() {
				first = append(first, !seen[s])
				seen[s] = true
			}
			event.Count(first, func(key models.Key, cell models.Cell, n int64) {
				if want[key] == nil {
					want[key] = map[models.Cell]int64{}
				}
				want[key][cell] += n
			})
		}
	}
	return want
}

func (w *world) duplicate(p models.Partition, offset int) bool {
	for i := max(0, offset-simWindow); i < offset; i++ {
		if w.log[p][i].EventID() == w.log[p][offset].EventID() {
			return true
		}
	}
	return false
}

// equal compares the counters with the truth; a counter of 0 is as good as none.
func (w *world) equal() bool {
	want := w.truth()
	for key, cells := range w.store.cells {
		maps.DeleteFunc(cells, func(_ models.Cell, n int64) bool { return n == 0 })
		if len(cells) > 0 && !maps.Equal(cells, want[key]) {
			return false
		}
		delete(want, key)
	}
	return len(want) == 0
}

// read implements logReader.
func (w *world) read(_ context.Context, p models.Partition, s span, window int64, each func(item)) error {
	for offset := max(0, s.from-window); offset < min(s.to, int64(len(w.log[p]))); offset++ {
		each(item{partition: p, offset: offset, event: w.log[p][offset], warm: offset < s.from})
	}
	return nil
}
