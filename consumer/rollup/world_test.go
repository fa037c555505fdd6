package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/eventlog"
	"footfall/consumer/maintenance"
	"footfall/consumer/repair"
	"footfall/consumer/rollup/meter"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
	"footfall/test/e2e/oracle"
)

const (
	simTables = "these"
	simSpan   = 7      // offsets of one partition in a chunk, at the most
	simEvents = 120    // in the log; about one in ten is followed by dead letters
	simDead   = 12     // dead letters one after the other, at the most
	simFaulty = 600    // steps with faults; after them there are none
	simLimit  = 60_000 // steps; a process that waits for one that pauses for 40 minutes needs most of them
)

// simReach is the reach of the duplicate window. Some ids that are sent again are beyond it, by offset or by time. On the way the
// window's ring grows twice.
var simReach = eventlog.Reach{Offsets: 18, Age: 8 * time.Minute}

// simRechecks is when doubts are checked: the product's own times, which the plays put to the test.
var simRechecks = repair.NewChecker(&eventlog.Log{}, nil, eventlog.NewHasher(), nil).Rechecks

// world is a log, a group, a store, and the consumers of them. Consumers are goroutines that wait at every call to the store. The
// world lets one of them go on at a time, as its fate decides, and moves the clock when all wait for it.
type world struct {
	rnd        *rand.Rand // of lots
	fate       fate
	controls   controls
	plan       *models.Plan // of all events
	span       int64        // offsets of one partition in a chunk, at the most
	checked    int          // bytes that a check of doubts may hold; 0: as many as by default
	store      *memstore.Memory
	history    []store.KeyWrite // acknowledged writes, for the control that loses some
	reading    sync.Mutex       // guards the log: timers may wake up several consumers at once
	log        map[models.Partition][]logged
	unwritten  []unwritten      // the rest of the log
	retires    bool             // March is retired, and the log grows; else it is complete from the beginning
	retiring   bool             // the retirement has begun
	sources    eventlog.Sources // of the topic that grows; nil: none does
	partitions []models.Partition
	committed  map[models.Partition]eventlog.GroupOffset
	refused    atomic.Bool // a consumer ended with a refusal
	generation int
	actors     []*actor
	late       []lateWrite
	early      []models.Name    // that were counted before they were listed
	hidden     []store.KeyWrite // applied on one replica, where a quorum does not see them
	back       time.Time        // until then a replica does not answer
	forming    time.Time        // a rebalance is under way: the next generation begins then at the latest
	faults     bool
	oddities
	knocks chan struct{} // gets a value when a goroutine waits for a turn; nil: not needed
	over   atomic.Bool
	number atomic.Int64
	out    outcomes
	tell   func(string, ...any)
}

type lateWrite struct {
	due   time.Time
	apply func()
}

// logged is one message; without an event it is a dead letter.
type logged struct {
	models.Event
	at time.Time
}

type unwritten struct {
	p models.Partition
	logged
}

func newWorld(seed int, c controls) *world {
	w := emptyWorld(c)
	w.rnd, w.fate, w.span, w.oddities = rand.New(rand.NewPCG(uint64(seed), 1)), lots{w}, simSpan, newOddities(seed, c)
	w.partitions = []models.Partition{{Topic: "clicks", Number: 0}, {Topic: "clicks", Number: 1}, {Topic: "visits", Number: 0}}
	w.back = time.Now().Add(time.Duration(w.rnd.IntN(50)-25) * time.Minute)
	if seed%3 == 0 { // visitors' rows are soon full
		w.store.Full = 2
	}
	if seed%5 == 1 { // not all is kept
		w.plan = fewMetrics
	}
	grows := c.grows(seed)
	w.compose()
	if grows {
		w.succeed()
	}
	w.checked = []int{0, 4_000, 16_000}[seed%3] // a check goes in many pieces, in a few, or in one
	if w.retires = c.retires(seed); w.retires {
		w.write(len(w.unwritten) / 2)
	} else {
		w.write(len(w.unwritten))
	}
	if grows {
		w.seal()
	}
	return w
}

// fewMetrics leaves metrics out, of visits and of clicks.
var fewMetrics = func() *models.Plan {
	plan, err := models.NewPlan(models.DefaultFeatures(), []string{models.MonthUnique, models.WeekUnique, models.MonthViews, models.BrowserMonths})
	if err != nil {
		panic(err) // the names are constants
	}
	return plan
}()

// Over the seeds, each way of a world meets each other, but that nothing is retired while a topic grows.
func TestWorldsCombineTheirWays(t *testing.T) {
	met := map[[2]string]bool{}
	ways := []string{"rows soon full", "retirement", "few metrics", "growth"}
	for seed := range 60 {
		w := newWorld(seed, controls{})
		is := map[string]bool{ways[0]: w.store.Full == 2, ways[1]: w.retires, ways[2]: w.plan == fewMetrics, ways[3]: w.controls.grows(seed)}
		for a := range is {
			for b := range is {
				met[[2]string{a, b}] = met[[2]string{a, b}] || is[a] && is[b]
			}
		}
	}
	for pair, found := range met {
		if never := pair == [2]string{ways[1], ways[3]} || pair == [2]string{ways[3], ways[1]}; found == never {
			t.Errorf("%s and %s in one world: %v", pair[0], pair[1], found)
		}
	}
}

// emptyWorld has no log and no fate yet.
func emptyWorld(c controls) *world {
	w := &world{
		controls: c, plan: models.DefaultPlan(), store: memstore.New(), log: map[models.Partition][]logged{}, committed: map[models.Partition]eventlog.GroupOffset{},
		tell: func(string, ...any) {},
	}
	w.store.NextEpoch = w.nextEpoch
	w.store.Timeout = 5 * time.Second
	return w
}

// compose makes up the log. Some events are sent again, some of them after dead letters, and senders use the same ids.
func (w *world) compose() {
	at := models.Earliest.Time()
	sent := map[models.Partition][]models.Event{}
	for i := range simEvents {
		at = at.Add(time.Duration(w.rnd.IntN(60)-5) * time.Second) // the clocks of producers differ
		p := w.partitions[w.rnd.IntN(len(w.partitions))]
		event := w.event(p, fmt.Sprint(i/5))
		if n := len(sent[p]); n > 0 && w.rnd.IntN(6) == 0 {
			event = sent[p][n-1-w.rnd.IntN(min(n, 16))] // sent again
		}
		sent[p] = append(sent[p], event)
		w.unwritten = append(w.unwritten, unwritten{p, logged{event, at}})
		for n := w.rnd.IntN(10*simDead) - 9*simDead; n > 0; n-- {
			w.unwritten = append(w.unwritten, unwritten{p, logged{nil, at}})
		}
	}
}

// write appends so many events to the log.
func (w *world) write(n int) {
	w.reading.Lock()
	defer w.reading.Unlock()
	for ; n > 0 && len(w.unwritten) > 0; n-- {
		next := w.unwritten[0]
		w.log[next.p], w.unwritten = append(w.log[next.p], next.logged), w.unwritten[1:]
	}
}

// event makes an event whose visitor belongs to p: one visitor, one partition.
func (w *world) event(p models.Partition, id string) models.Event {
	ts := models.Earliest + models.Millis(w.rnd.IntN(40*24))*3_600_000
	visitor := fmt.Sprintf("%d-%d", p.Number, w.rnd.IntN(4))
	if p.Topic == "clicks" {
		click := &models.Click{Plan: w.plan, V: 1, ID: id, ShortURL: fmt.Sprint("link", w.rnd.IntN(3)), IP: visitor, TS: ts, Bot: w.rnd.IntN(10) == 0}
		hours := int(ts / 3_600_000) // no draws of their own, which would make other plays of the seeds
		click.Country, click.Referrer = []string{"", "IT", "DE"}[hours%3], []string{"", "news"}[hours/3%2]
		for i, name := range click.Names() {
			*name = []string{"", "a", "b"}[hours/(2+3*i)%3]
		}
		if hours%4 == 0 {
			amount := int64(hours%7 + 1)
			click.Amount = &amount
		}
		return click
	}
	return &models.Visit{Plan: w.plan, V: 1, ID: id, SiteID: "site", GUID: visitor, TS: ts, Features: []string{fmt.Sprint("f", w.rnd.IntN(2)), "g"}}
}

// run plays until everything is counted and settled, then audits and compares.
func (w *world) run(ctx context.Context) (outcomes, error) {
	defer w.end()
	w.regroup()
	for step := 0; ; step++ {
		if step > simLimit {
			return w.out, errors.New("not finished: a process is stuck")
		}
		w.out.Steps++
		w.land()
		w.fate.between(ctx, step)
		w.form(ctx)
		if w.allOver() {
			break
		}
		w.advance()
	}
	if err := w.settle(ctx); err != nil {
		return w.out, err
	}
	for _, a := range w.actors {
		if a.left {
			w.out.CleanExits++
		}
	}
	for p, list := range w.log {
		for offset := range list {
			switch {
			case list[offset].Event == nil:
				w.out.Dead++
			case w.duplicate(p, offset):
				w.out.Duplicates++
			case w.retired(p, offset):
				w.out.Retired++
			}
		}
	}
	w.reveal() // in the end every replica has every write
	if wrong := oracle.Diff(w.truth(), w.counted()); len(wrong) > 0 {
		return w.out, fmt.Errorf("%d cells differ from the log's: %s", len(wrong), strings.Join(wrong, "; "))
	}
	if err := w.checkLists(ctx); err != nil {
		return w.out, err
	}
	audit, err := maintenance.NewAuditor(w.checker(w.store, w.fresh), w.store, 1, 1).Run(ctx, maintenance.AuditOptions{}, func(line string) { w.tell("audit: %s", line) })
	if err != nil || !audit.Clean() {
		return w.out, fmt.Errorf("left for the audit: %+v, %w", audit, err)
	}
	return w.out, nil
}

// restart kills the store: writes under way are lost. Acknowledged writes are not, unless a control wants that.
func (w *world) restart() {
	w.late = nil
	w.out.Restarts++
	w.tell("the store restarts")
	if !w.controls.forgetful || len(w.history) == 0 {
		return
	}
	w.history = w.history[:len(w.history)-w.fate.forgotten(min(len(w.history), 10))]
	w.store.Counters, w.store.LedgerRows = memstore.New().Counters, memstore.New().LedgerRows
	for _, write := range w.history {
		w.store.ApplyOne(write)
	}
}

// live lists the consumers of the current generation.
func (w *world) live() (out []*actor) {
	for _, a := range w.actors {
		if !a.audit && !a.done.Load() && !a.crashed.Load() && !a.zombie && !a.leaving.Load() {
			out = append(out, a)
		}
	}
	return out
}

// allOver tells whether the log is counted. It replaces consumers that gave up.
func (w *world) allOver() bool {
	if !w.forming.IsZero() {
		return false
	}
	for _, p := range w.partitions {
		if !slices.ContainsFunc(w.live(), func(a *actor) bool { return slices.Contains(a.partitions, p) }) {
			for _, a := range w.live() {
				a.leaving.Store(true)
			}
			w.regroup()
			return false
		}
	}
	for _, p := range w.partitions {
		to := w.committed[p].Offset
		if to < 0 { // Kafka has deleted the offset, and there is no event left to commit it again: ask the store
			to = w.store.OwnerRows[p].Committed
		}
		if to < int64(len(w.log[p])) {
			return false
		}
	}
	return !w.faults && len(w.late) == 0 && len(w.unwritten) == 0
}

// settle waits until no doubt is left and no zombie can write any more, for some hours at the most.
func (w *world) settle(ctx context.Context) error {
	for until := time.Now().Add(4 * time.Hour); time.Now().Before(until); {
		open := 0
		for _, list := range w.store.OpenDoubts {
			open += len(list)
		}
		if w.controls.noRechecks {
			open = 0
		}
		if (open == 0 || w.fate.decided()) && !w.awaited(true) {
			return nil
		}
		w.land()
		w.allOver() // replaces owners that gave up
		w.form(ctx)
		w.advance()
	}
	return errors.New("doubts do not settle")
}

// awaited tells whether a process may still write that is not a live consumer: a zombie, also one that was paused before its generation
// ended, or with audits an audit.
func (w *world) awaited(audits bool) bool {
	return slices.ContainsFunc(w.actors, func(a *actor) bool {
		return (a.zombie || !a.audit && a.superseded.Load() || audits && a.audit) && !a.done.Load() && !a.crashed.Load()
	})
}

// item is one message as a fetcher would return it.
func (w *world) item(p models.Partition, offset int64) eventlog.Item {
	w.reading.Lock()
	defer w.reading.Unlock()
	m := w.log[p][offset]
	it := eventlog.Item{Partition: p, Offset: offset, Event: m.Event, At: m.at, HighWater: int64(len(w.log[p]))}
	if m.Event != nil {
		it.Value = []byte(m.EventID())
	} else {
		it.Dead = &eventlog.DeadLetter{Invalid: &models.Invalid{Reason: models.ReasonBadJSON}}
	}
	return it
}

// written is how long the log is.
func (w *world) written(p models.Partition) int64 {
	w.reading.Lock()
	defer w.reading.Unlock()
	return int64(len(w.log[p]))
}

func (w *world) fresh() int64 { return w.number.Add(1) }

// simMetrics are shared by all processes: no test reads them, and making them takes longer than a small play.
var simMetrics = sync.OnceValue(func() *meter.Metrics { return meter.New(prometheus.NewRegistry()) })

func (w *world) checker(s store.Store, newID func() int64) *repair.Checker {
	return &repair.Checker{
		Doubter: repair.Doubter{Store: s, NewID: newID, Metrics: simMetrics().Repair, Logger: slog.New(slog.DiscardHandler)}, Plan: w.plan,
		Reader: w, Hasher: eventlog.NewHasher(), Reach: simReach, Sources: w.sources, Rechecks: simRechecks, Bytes: w.checked,
	}
}
