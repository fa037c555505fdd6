package rollup

import (
	"context"
	"math/rand/v2"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

// fate decides what the code under test cannot: at random from a seed (lots), or one possibility after the other (schedule).
type fate interface {
	// between may make something happen between two steps.
	between(ctx context.Context, step int)
	// next chooses the goroutine that goes on, of those that wait; -1: something happened instead.
	next(ready []waiting) int
	// idle moves the clock, when all goroutines wait for it.
	idle()
	// callEnds is the ending of a call to the store that writes no counters.
	callEnds() ending
	// writeEnds is the ending of a write of counters.
	writeEnds() ending
	// landsIn is after what time a late write lands.
	landsIn() time.Duration
	// crashes tells whether a consumer crashes after a failed write.
	crashes() bool
	// order is the order in which so many rows are stored.
	order(n int) []int
	// stored tells whether a row whose insert failed is stored later all the same.
	stored() bool
	// beforeReading is called before every read of ledgers.
	beforeReading()
	// nothingDue tells that none of the doubts is due, so that reading them need not wait for a turn.
	nothingDue([]store.Doubt) bool
	// session is how long the group waits for members that leave.
	session() time.Duration
	// regrouped is called before every generation: it may move the group's offsets.
	regrouped()
	// together tells whether one consumer gets all partitions.
	together() bool
	// habits are those of a consumer that starts.
	habits() habits
	// forgotten is how many of the last n writes a forgetful store loses.
	forgotten(n int) int
	// decided tells that no further check of the doubts can change anything.
	decided() bool
	// odd tells whether a store misbehaves, once in so many times.
	odd(times int) bool
}

// ending is what becomes of a call.
type ending int

const (
	done         ending = iota
	failed              // certainly not done: an error
	disconnected        // certainly not done: no connection
	unheard             // done, but the answer is lost
	hidden              // done on one replica alone; the answer is lost
	late                // done later; the answer is lost
	lost                // never done; the answer is lost
)

// habits are how a consumer works.
type habits struct {
	cache   int           // keys whose positions it caches at the least
	offsets func() int64  // of one partition in its next chunk
	ahead   func() bool   // whether it prepares the next chunk before it counts this one
	poll    time.Duration // how often it looks for events
}

// lots decide at random, from the seed.
type lots struct{ *world }

func (w lots) between(ctx context.Context, step int) {
	w.faults = step < simFaulty
	w.grow(ctx, step)
	if w.faults {
		w.misfortune(ctx)
	}
}

// grow starts the retirement when nearly all visits are counted, so that consumers read the visits written after it at once.
func (w lots) grow(ctx context.Context, step int) {
	visits := models.Partition{Topic: "visits", Number: 0}
	switch {
	case !w.retires:
	case w.retiring && w.rnd.IntN(12) == 0:
		w.write(1)
	case !w.retiring && (step >= simFaulty || w.committed[visits].Offset+3 > int64(len(w.log[visits]))):
		w.retiring = true
		w.startRetire(ctx)
	}
}

// misfortune may let the store restart, a process pause or crash, or an audit begin.
func (w lots) misfortune(ctx context.Context) {
	w.flap()
	switch n := w.rnd.IntN(1000); {
	case n < 6:
		w.restart()
	case n < 20:
		w.rebalance()
	case n < 40:
		if live := w.live(); len(live) > 0 {
			a := live[w.rnd.IntN(len(live))]
			a.asleep = time.Now().Add(w.nap())
			w.tell("%s pauses", a)
		}
	case n < 46 && w.controls.audited():
		w.startAudit(ctx)
	case n < 50:
		for _, a := range w.actors {
			if a.audit && !a.done.Load() && w.rnd.IntN(2) == 0 {
				a.crash()
			}
		}
	}
}

// nap is how long a process pauses: mostly less than a minute, now and then much longer than any doubt stays open.
func (w lots) nap() time.Duration {
	if w.rnd.IntN(20) == 0 {
		return time.Duration(w.rnd.IntN(40)) * time.Minute
	}
	return time.Duration(w.rnd.IntN(40)) * time.Second
}

// rebalance ends the generation: some members leave clean, some crash, some pause and wake up as zombies.
func (w lots) rebalance() {
	for _, a := range w.live() {
		switch w.rnd.IntN(3) {
		case 0:
			a.leaving.Store(true)
			w.tell("%s is asked to leave", a)
		case 1:
			a.crash()
		default:
			a.zombie, a.asleep = true, time.Now().Add(w.nap())
			w.out.Zombies++
			w.tell("%s becomes a zombie", a)
		}
	}
	w.regroup()
}

func (w lots) session() time.Duration { return time.Duration(w.rnd.IntN(20)) * time.Second }
func (w lots) together() bool         { return w.rnd.IntN(2) == 0 }

// regrouped sets the group back now and then: the ledger must prevent counting twice. Or it sets the group forward: consumers must not
// skip events.
func (w lots) regrouped() {
	someone := func() models.Partition { return w.partitions[w.rnd.IntN(len(w.partitions))] }
	if w.faults && w.rnd.IntN(4) == 0 {
		p, to := someone(), int64(-1)
		if w.rnd.IntN(4) != 0 {
			to = w.rnd.Int64N(max(0, min(w.committed[p].Offset, w.store.OwnerRows[p].Committed)) + 1)
		}
		w.setBack(p, to)
	}
	if w.faults && w.rnd.IntN(10) == 0 {
		w.setForward(someone(), 1+w.rnd.Int64N(4))
	}
}

func (w lots) next(ready []waiting) int { return w.rnd.IntN(len(ready)) }

// idle never ends at the same moment as a consumer's own timers.
func (w lots) idle() { time.Sleep(333*time.Millisecond + 7*time.Nanosecond) }

func (w lots) callEnds() ending {
	if w.flapped() {
		return disconnected
	}
	if !w.faults {
		return done
	}
	switch n := w.rnd.IntN(100); {
	case n < 2:
		return failed
	case n < 3:
		return disconnected
	case n < 5:
		return unheard
	}
	return done
}

func (w lots) writeEnds() ending {
	n := w.rnd.IntN(1000)
	switch {
	case !w.faults || n >= 160:
		return done
	case n < 20 && w.rnd.IntN(2) == 0:
		return disconnected
	case n < 20:
		return failed
	case n < 40:
		return unheard
	case n < 60:
		return hidden
	case n < 130:
		return late
	}
	return lost
}

func (w lots) landsIn() time.Duration        { return time.Duration(w.rnd.IntN(60)) * time.Second }
func (w lots) crashes() bool                 { return w.rnd.IntN(5) == 0 }
func (w lots) order(n int) []int             { return w.rnd.Perm(n) }
func (w lots) stored() bool                  { return w.faults && w.rnd.IntN(3) == 0 }
func (w lots) beforeReading()                {}
func (w lots) nothingDue([]store.Doubt) bool { return false }
func (w lots) decided() bool                 { return false }
func (w lots) forgotten(n int) int           { return w.rnd.IntN(n) }

func (w lots) odd(times int) bool { return w.faults && w.dice != nil && w.dice.IntN(times) == 0 }

func (w lots) habits() habits {
	rnd := rand.New(rand.NewPCG(w.rnd.Uint64(), 2))
	return habits{
		cache: []int{4, 100}[rnd.IntN(2)], poll: 200 * time.Millisecond,
		offsets: func() int64 { return int64(rnd.IntN(simSpan + 1)) },
		ahead:   func() bool { return rnd.IntN(2) == 0 },
	}
}
