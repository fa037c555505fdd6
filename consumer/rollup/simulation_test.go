package rollup

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/consumer/eventlog"
	"footfall/models"
	"footfall/test/e2e/oracle"
)

var (
	simSeeds = flag.Int("sim.seeds", 50, "how many seeds the simulation plays")
	simFirst = flag.Int("sim.first", 0, "the first of these seeds")
	simSeed  = flag.Int("sim.seed", -1, "play this seed only, and log what happens")
)

// raced: the race detector is on.
var raced bool

// brief tells whether to play less: all of it takes minutes with the race detector, and -short must take less than one.
func brief() bool { return raced || testing.Short() }

// shortSeeds is how many seeds -short plays.
const shortSeeds = 5

// The simulation runs the rollup's own code against a log, a group and a store with faults that real servers do not make on
// demand: writes that are applied and then fail, or fail and are applied late, requests half applied, stores that restart, owners
// that crash, leave clean, or pause and wake up as zombies at any step, duplicates, checks and audits whose own repairs fail.
// One seed decides all of it. Afterwards every counter must equal the log, and every covered offset must be counted once, without
// an operator's help.
func TestSimulation(t *testing.T) {
	first, last := *simFirst, *simFirst+*simSeeds
	if testing.Short() {
		last = min(last, first+shortSeeds)
	}
	if *simSeed >= 0 {
		first, last = *simSeed, *simSeed+1
	}
	var total outcomes
	playAll(t, first, last, controls{}, func(seed int, o outcomes, err error) {
		if err != nil {
			t.Errorf("seed %d: %v\nreplay it: go test ./consumer/rollup -run 'TestSimulation$' -sim.seed %d -v", seed, err, seed)
		}
		total.add(o)
	})
	t.Logf("%d seeds: %+v", last-first, total)
	if *simSeed < 0 && last-first >= 50 && slices.Contains(total.all(), 0) {
		t.Errorf("some faults never happened: %+v", total)
	}
}

// The same seed must play the same, or a failure could not be replayed.
func TestSimulationReplays(t *testing.T) {
	seeds := 5
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		a, errA := play(t, seed, controls{})
		b, errB := play(t, seed, controls{})
		if a != b || errA != nil || errB != nil {
			t.Errorf("seed %d played as %+v (%v), then as %+v (%v)", seed, a, errA, b, errB)
		}
	}
}

// controls break the rollup on purpose. The simulation must find each of them, or it could not find such a bug.
type controls struct {
	noLedger    bool // ledger rows are not written
	blindRetry  bool // a write of unknown outcome is sent again
	earlyLRU    bool // a visitor is cached before its row is stored
	shrinks     bool // a repair shortens an owner's row instead of writing its own
	forgetful   bool // a restart of the store loses acknowledged writes
	noDuplicate bool // duplicates are counted
	forgetsIDs  bool // dead letters empty the duplicate window
	noRechecks  bool // doubts are never checked
	noDoubts    bool // doubts are never stored
	anyReplica  bool // an answer of some replicas is taken for one of all
	shortDoubts bool // a successor doubts less than its predecessor may have been writing
	noReading   bool // the ledger is not read where others may have written it
	deaf        bool // consumers do not read what is retired
	hasty       bool // a retirement is decided before consumers can know it
	believing   bool // a group that was moved forward is trusted

	sharedEpochs bool // epochs have no random bits
	noGate       bool // a generation does not wait for the one before it
	noInherit    bool // a generation does not know the ids of the one before it
	lateNames    bool // names are listed when there is time, after their counters
	namesAfter   bool // names are listed right after their counters
	noForgetting bool // the ledger is not read again after a lost connection
}

// audited tells whether audits run. Not with controls that break doubts: an audit would repair what doubts do not, and hide that.
func (c controls) audited() bool {
	return !c.noRechecks && !c.noDoubts && !c.shortDoubts && !c.anyReplica && !c.noReading && !c.noForgetting
}

// retires tells whether visitors are retired in this play: in every other one, but not with controls that would keep it from ending.
func (c controls) retires(seed int) bool { return c.deaf || c.hasty || c == controls{} && seed%2 == 1 }

func TestSimulationSees(t *testing.T) {
	if brief() {
		t.Skip("takes minutes, more with the race detector, which sees nothing new: neither with -race nor with -short")
	}
	// floor is how many seeds must go wrong: fewer than went wrong when it was set, or as many where that is rare. Plays are the same
	// each time, so fewer than floor means that the simulation has become blind for this control.
	f := func(name string, floor, seeds int, c controls) {
		t.Run(name, func(t *testing.T) {
			wrong := 0
			playAll(t, 0, seeds, c, func(_ int, _ outcomes, err error) {
				if err != nil {
					wrong++
				}
			})
			t.Logf("%d of %d seeds wrong", wrong, seeds)
			if wrong < floor {
				t.Errorf("%s goes unnoticed: %d of %d seeds wrong, want %d at least", name, wrong, seeds, floor)
			}
		})
	}
	f("ledger off", 15, 20, controls{noLedger: true})
	f("blind retry", 10, 20, controls{blindRetry: true})
	f("LRU filled before the insert", 8, 60, controls{earlyLRU: true})
	f("repair shrinks an owner's row", 5, 20, controls{shrinks: true})
	f("store loses acknowledged writes", 6, 20, controls{forgetful: true})
	f("duplicates counted", 15, 20, controls{noDuplicate: true})
	f("ids forgotten at dead letters", 15, 20, controls{forgetsIDs: true})
	f("doubts never checked", 12, 40, controls{noRechecks: true})
	f("doubts never noted", 12, 40, controls{noDoubts: true})
	f("some replicas taken for all", 8, 120, controls{anyReplica: true})
	f("doubts too short", 1, 320, controls{shortDoubts: true}) // rare, since repairs go on beyond their doubt
	f("ledger not read", 14, 400, controls{noReading: true})
	f("retirements not noticed", 4, 20, controls{deaf: true})
	f("positions not read again", 3, 100, controls{noForgetting: true})
	f("epochs without random bits", 3, 100, controls{sharedEpochs: true})
	f("moved groups believed", 6, 40, controls{believing: true})
	f("generations not one after the other", 5, 40, controls{noGate: true})
	f("ids of the generation before not known", 15, 40, controls{noInherit: true})
	f("names listed when there is time", 10, 20, controls{lateNames: true})
	f("names listed after their counters", 20, 20, controls{namesAfter: true})
	f("retirements too hasty", 2, 120, controls{hasty: true})
}

// outcomes counts what happened in a play.
type outcomes struct {
	Steps, Writes, Refused, Unknown, Late, Hidden, Restarts, Crashes, CleanExits, SetBack, SetForward, Expired, Zombies, Audits, Incomplete, Doubts, Repairs,
	Retired, Removed, TakenTwice, Flaps, Dead, Duplicates, Left int
}

// all lists the counts.
func (o *outcomes) all() (counts []int) {
	for _, field := range reflect.ValueOf(*o).Fields() {
		counts = append(counts, int(field.Int()))
	}
	return counts
}

func (o *outcomes) add(p outcomes) {
	sum := reflect.ValueOf(o).Elem()
	for i, n := range p.all() {
		sum.Field(i).SetInt(sum.Field(i).Int() + int64(n))
	}
}

// playAll plays the seeds, as many at once as there are processors: each has a world and a clock of its own. Without controls it
// stops when one goes wrong. It calls tell with one result at a time.
func playAll(t *testing.T, first, last int, c controls, tell func(int, outcomes, error)) {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for seed := first; seed < last; seed++ {
		group.Go(func() error {
			if c == (controls{}) && t.Failed() {
				return nil
			}
			o, err := play(t, seed, c)
			mu.Lock()
			defer mu.Unlock()
			tell(seed, o, err)
			return nil
		})
	}
	_ = group.Wait() // tell gets the errors
}

// play plays one seed and compares the counters with the log.
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

// truth counts the log with the oracle, which knows of the product's code no more than the types of events.
func (w *world) truth() oracle.Cells {
	o := oracle.New().Keep(w.plan.Metrics()...)
	for _, p := range w.partitions {
		for offset, event := range w.log[p] {
			if event.Event == nil || w.duplicate(p, offset) || w.retired(p, offset) {
				continue
			}
			id := fmt.Sprint(p, offset) // the oracle takes an id that comes again for a duplicate, however late it comes
			switch e := event.Event.(type) {
			case *models.Click:
				click := *e
				click.ID = id
				o.Click(&click)
			case *models.Visit:
				visit := *e
				visit.ID = id
				o.Visit(&visit)
			}
		}
	}
	maps.DeleteFunc(o.Cells(), func(name string, _ int64) bool { // rows of visitors
		return strings.HasPrefix(name, "urlshortener.uniquecounterips|") || strings.HasPrefix(name, "cardinality.guiddata|")
	})
	return o.Cells()
}

// counted are the store's counters in the oracle's words; a counter of 0 is as good as none. Two that are one in Cassandra's tables add up.
func (w *world) counted() oracle.Cells {
	got := oracle.Cells{}
	for key, cells := range w.store.Counters {
		for cell, n := range cells {
			if n != 0 {
				got[cellName(key, cell)] += n
			}
		}
	}
	return got
}

func cellName(key models.Key, cell models.Cell) string {
	if key.Keyspace == models.Cardinality {
		columns := []any{"siteid", key.Name, "month_interval_start", key.Month.Time()}
		for i, value := range key.Features.Values() {
			columns = append(columns, fmt.Sprint("feature", i+1), value)
		}
		return oracle.Name("cardinality.counts", append(columns, "metric_type", cell.Counter, "interval_start", cell.At.Time())...)
	}
	table, columns := "urlshortener."+cell.Counter, []any{"short_url", key.Name}
	switch cell.Counter {
	case models.HourCounters:
		columns = append(columns, "hour", cell.At.Time())
	case models.DayCounters:
		columns = append(columns, "day", cell.At.Time())
	case models.CountryCounters:
		columns = append(columns, "country", cell.Label)
	case models.ReferrerCounters:
		columns = append(columns, "referrer", cell.Label)
	case models.ClickCounter, models.UniqueCounter, models.BotCounter:
	case models.NumValues, models.SumValues:
		table, columns = "urlshortener.amountcounters."+cell.Counter, append(columns, "day", cell.At.Time())
	default:
		table, columns = "urlshortener.monthcounters", append(columns, "dimension", cell.Counter, "month", cell.At.Time(), "label", cell.Label)
	}
	return oracle.Name(table, columns...)
}

// retired tells whether the visit is refused: it is of March, and was written after March was retired.
func (w *world) retired(p models.Partition, offset int) bool {
	v, visit := w.log[p][offset].Event.(*models.Visit)
	if !visit || len(w.store.Told.Retirements) == 0 || w.store.Told.Retirements[0].From == nil {
		return false
	}
	return v.TS.Time().Month() == time.March && int64(offset) >= w.store.Told.Retirements[0].From[p.Number]
}

// duplicate tells whether an event is a duplicate, by searching for its id's last occurrence.
func (w *world) duplicate(p models.Partition, offset int) bool {
	m := w.log[p][offset]
	for i := offset - 1; i >= max(0, offset-int(simReach.Offsets)); i-- {
		before := w.log[p][i]
		if before.Event != nil && before.EventID() == m.EventID() && before.KafkaKey() == m.KafkaKey() {
			return m.at.Sub(before.at) <= simReach.Age
		}
	}
	return w.inheritedDuplicate(p, offset)
}

// Read implements eventlog.Reader.
func (w *world) Read(_ context.Context, p models.Partition, s eventlog.Span, r eventlog.Reach, each func(eventlog.Item)) (eventlog.Reading, error) {
	got := eventlog.Reading{Span: eventlog.Span{From: s.From, To: min(s.To, w.written(p))}, Whole: true}
	for offset := max(0, s.From-r.Offsets); offset < got.To; offset++ {
		it := w.item(p, offset)
		it.Warm = offset < s.From
		each(it)
	}
	return got, nil
}
