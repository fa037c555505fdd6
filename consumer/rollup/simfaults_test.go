package rollup

import (
	"math/rand/v2"
	"time"

	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// oddities are faults of the store with random numbers of their own, so that the plays of controls without oddities stay the same.
type oddities struct {
	dice    *rand.Rand // nil: none
	takings map[models.Partition]taking
	flaps   time.Time // until then the connection is lost again and again
}

// taking is what the last Take of a partition changed, if the partition was not left clean.
type taking struct{ before, after memstore.OwnerRow }

func newOddities(seed int, c controls) oddities {
	o := oddities{takings: map[models.Partition]taking{}}
	if c == (controls{}) || c.sharedEpochs || c.noForgetting {
		o.dice = rand.New(rand.NewPCG(uint64(seed), 3))
	}
	return o
}

// simEpochBits are the bits below an epoch's number, as store.NextEpoch has them.
const simEpochBits = 31

// nextEpoch is store.NextEpoch without random numbers and the clock, so that plays can be repeated.
func (w *world) nextEpoch(last int64) int64 {
	if w.controls.sharedEpochs {
		return (store.EpochNumber(last) + 1) << simEpochBits
	}
	return (store.EpochNumber(last)+1)<<simEpochBits | w.fresh()
}

// take takes a partition. It may undo the last Take first, as a broken transaction would: then two owners both believe that they took
// the partition from the same one. It does so only if that one had not left clean: else both would have the same epoch.
func (w *world) take(p models.Partition, do func() (store.Tenure, error)) (store.Tenure, error) {
	if last, ok := w.takings[p]; ok && last.after == w.store.OwnerRows[p] && w.fate.odd(3) {
		w.tell("%v is taken as if %s had not taken it", p, last.after.Owner)
		w.store.OwnerRows[p] = last.before
		w.out.TakenTwice++
	}
	before, known := w.store.OwnerRows[p]
	t, err := do()
	delete(w.takings, p)
	if known && !before.Clean {
		w.takings[p] = taking{before, w.store.OwnerRows[p]}
	}
	return t, err
}

// flap may begin a time in which the connection to the store is lost again and again.
func (w *world) flap() {
	if w.fate.odd(300) {
		w.flaps = time.Now().Add(time.Duration(w.dice.IntN(30)) * time.Second)
		w.tell("connections flap until %v", w.flaps)
	}
}

// flapped tells whether a call finds its connection lost.
func (w *world) flapped() bool {
	if time.Now().After(w.flaps) || !w.fate.odd(3) {
		return false
	}
	w.out.Flaps++
	return true
}
