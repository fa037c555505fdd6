package rollup

import (
	"maps"
	"slices"
	"testing/synctest"
	"time"
)

// wait blocks until it is this goroutine's turn; false if its process is dead.
func (a *actor) wait(who string) bool {
	if a.w.over.Load() {
		return false
	}
	turn := make(chan bool)
	a.mu.Lock()
	a.turns[who] = turn
	a.mu.Unlock()
	select {
	case a.w.knocks <- struct{}{}:
	default: // nobody listens, or a knock is pending
	}
	return <-turn
}

// waiting is a goroutine that waits for its turn.
type waiting struct {
	a   *actor
	who string
}

// advance lets one waiting goroutine go on, or else the clock.
func (w *world) advance() {
	synctest.Wait()
	var ready []waiting
	for _, a := range w.actors {
		if a.crashed.Load() || time.Now().Before(a.asleep) {
			continue
		}
		for _, who := range a.waiting() {
			ready = append(ready, waiting{a, who})
		}
	}
	if len(ready) == 0 {
		w.fate.idle()
		synctest.Wait() // the clock may have woken others as well
		return
	}
	if i := w.fate.next(ready); i >= 0 {
		ready[i].a.turn(ready[i].who) <- true
		synctest.Wait()
	}
}

// waiting lists the goroutines that wait for their turn.
func (a *actor) waiting() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.turns))
}

// turn returns the channel on which a goroutine waits, and takes it off the list.
func (a *actor) turn(who string) chan<- bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	turn := a.turns[who]
	delete(a.turns, who)
	return turn
}

// end ends all goroutines: those that wait for a turn, and those that sleep.
func (w *world) end() {
	w.over.Store(true)
	for _, a := range w.actors {
		a.crashed.Store(true)
		a.cancel()
	}
	synctest.Wait()
	for _, a := range w.actors {
		for _, who := range a.waiting() {
			a.turn(who) <- false
		}
	}
	time.Sleep(time.Hour)
}
