package rollup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/models"
)

const (
	simWindow = 20  // offsets in which an id counts once
	simEvents = 120 // in the log
	simFaulty = 400 // steps with faults; then the world heals
	simLimit  = 20_000
)

// world is a log, a group and a store, and the consumers in it. Consumers are goroutines that wait at every call to the
// store; the world lets one of them go on at a time, as the seed says, and moves the clock when all wait for it.
type world struct {
	rnd        *rand.Rand
	controls   controls
	store      *memory
	history    []KeyWrite // acknowledged, for stores that forget
	log        map[models.Partition][]models.Event
	partitions []models.Partition
	committed  map[models.Partition]int64
	generation int
	actors     []*actor
	late       []lateWrite
	faults     bool
	number     int64
	out        outcomes
	tell       func(string, ...any)
}

type lateWrite struct {
	due   time.Time
	write KeyWrite
}

func newWorld(seed int, c controls) *world {
	w := &world{
		rnd: rand.New(rand.NewPCG(uint64(seed), 1)), controls: c, store: newMemory(), faults: true,
		log: map[models.Partition][]models.Event{}, committed: map[models.Partition]int64{}, tell: func(string, ...any) {},
	}
	w.store.timeout = 5 * time.Second
	w.partitions = []models.Partition{{Topic: "clicks", Number: 0}, {Topic: "clicks", Number: 1}, {Topic: "visits", Number: 0}}
	for i := range simEvents {
		p := w.partitions[w.rnd.IntN(len(w.partitions))]
		if n := len(w.log[p]); n > 0 && w.rnd.IntN(10) == 0 {
			w.log[p] = append(w.log[p], w.log[p][n-1-w.rnd.IntN(min(n, 5))]) // sent twice
			continue
		}
		w.log[p] = append(w.log[p], w.event(p, fmt.Sprint(i)))
	}
	return w
}

// event makes one whose visitor belongs to p: one visitor, one partition.
func (w *world) event(p models.Partition, id string) models.Event {
	ts := models.Earliest + models.Millis(w.rnd.IntN(40*24))*3_600_000
	visitor := fmt.Sprintf("%d-%d", p.Number, w.rnd.IntN(4))
	if p.Topic == "clicks" {
		return &models.Click{V: 1, ID: id, ShortURL: fmt.Sprint("link", w.rnd.IntN(3)), IP: visitor, TS: ts, Bot: w.rnd.IntN(10) == 0}
	}
	return &models.Visit{V: 1, ID: id, SiteID: "site", GUID: visitor, TS: ts, Features: []string{fmt.Sprint("f", w.rnd.IntN(2)), ""}}
}

// run plays until everything is counted and settled, then audits and compares.
func (w *world) run(ctx context.Context) (outcomes, error) {
	defer w.end()
	w.rebalance(ctx)
	for step := 0; ; step++ {
		if step > simLimit {
			return w.out, errors.New("not finished: somebody is stuck")
		}
		w.faults = step < simFaulty
		w.out.Steps++
		w.land()
		if w.faults {
			w.misfortune(ctx)
		}
		if w.allOver(ctx) {
			break
		}
		w.advance()
	}
	if err := w.settle(); err != nil {
		return w.out, err
	}
	for _, a := range w.actors {
		if a.left {
			w.out.CleanExits++
		}
	}
	byItself := w.equal()
	if !w.controls.noRechecks {
		audit, err := w.checker(w.store).audit(ctx, w.store, true, func(line string) { w.tell("audit: %s", line) })
		if err != nil || !audit.Clean() {
			return w.out, fmt.Errorf("audit: %+v, %w", audit, err)
		}
		w.out.Repaired += audit.Repaired
	}
	if !w.equal() {
		return w.out, fmt.Errorf("counted %v, the log says %v", w.store.cells, w.truth())
	}
	if !byItself {
		w.out.ByAudit++
	}
	return w.out, nil
}

// misfortune lets something happen, or not.
func (w *world) misfortune(ctx context.Context) {
	switch n := w.rnd.IntN(1000); {
	case n < 6:
		w.restart()
	case n < 20:
		w.rebalance(ctx)
	case n < 40:
		if live := w.live(); len(live) > 0 {
			a := live[w.rnd.IntN(len(live))]
			a.asleep = time.Now().Add(time.Duration(w.rnd.IntN(30)) * time.Second)
			w.tell("%s pauses", a)
		}
	}
}

// restart kills the store: what was under way is gone, what was acknowledged is not, unless it is a forgetful one.
func (w *world) restart() {
	w.late = nil
	w.out.Restarts++
	w.tell("the store restarts")
	if !w.controls.forgetful || len(w.history) == 0 {
		return
	}
	w.history = w.history[:len(w.history)-w.rnd.IntN(min(len(w.history), 10))]
	w.store.cells, w.store.ledger = newMemory().cells, newMemory().ledger
	for _, write := range w.history {
		w.store.apply(write)
	}
}

// rebalance ends the generation and begins the next: some leave clean, some crash, some sleep through it and go on as if
// nothing had happened.
func (w *world) rebalance(ctx context.Context) {
	w.generation++
	for _, a := range w.live() {
		switch w.rnd.IntN(3) {
		case 0:
			a.leaving.Store(true)
			w.tell("%s is asked to leave", a)
		case 1:
			a.crashed.Store(true)
			w.out.Crashes++
			w.tell("%s crashes", a)
		default:
			a.zombie, a.asleep = true, time.Now().Add(time.Duration(w.rnd.IntN(40))*time.Second)
			w.out.Zombies++
			w.tell("%s becomes a zombie", a)
		}
	}
	if w.rnd.IntN(2) == 0 {
		w.start(ctx, w.partitions)
		return
	}
	for _, p := range w.partitions {
		w.start(ctx, []models.Partition{p})
	}
}

// live lists the consumers of the current generation.
func (w *world) live() (out []*actor) {
	for _, a := range w.actors {
		if !a.done.Load() && !a.crashed.Load() && !a.zombie && !a.leaving.Load() {
			out = append(out, a)
		}
	}
	return out
}

// allOver tells whether the log is counted. It replaces consumers that gave up.
func (w *world) allOver(ctx context.Context) bool {
	for _, p := range w.partitions {
		owned := slices.ContainsFunc(w.live(), func(a *actor) bool { return slices.Contains(a.partitions, p) })
		if !owned {
			w.generation++
			for _, a := range w.live() {
				a.leaving.Store(true)
			}
			for _, p := range w.partitions {
				w.start(ctx, []models.Partition{p})
			}
			return false
		}
	}
	for _, p := range w.partitions {
		if w.committed[p] < int64(len(w.log[p])) {
			return false
		}
	}
	return !w.faults && len(w.late) == 0
}

// settle waits until no doubt is left, for an hour at the most.
func (w *world) settle() error {
	for until := time.Now().Add(time.Hour); time.Now().Before(until); {
		open := 0
		for _, list := range w.store.doubts {
			open += len(list)
		}
		if open == 0 || w.controls.noRechecks {
			return nil
		}
		w.land()
		w.advance()
	}
	return errors.New("doubts do not settle")
}

func (w *world) checker(s Store) *checker {
	return &checker{
		store: s, log: w, hasher: newHasher(), window: simWindow, metrics: newMetrics(prometheus.NewRegistry()),
		logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		number: func() int64 { w.number++; return w.number },
	}
}
