package rollup

import (
	"flag"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

var (
	simWorlds   = flag.Int("sim.worlds", 0, "how many more turns go to another goroutine than usual in the small worlds; each makes them take some fifty times as long")
	simSchedule = flag.String("sim.schedule", "", "play this schedule of the small worlds only, such as '0,0,1', and log what happens")
)

// smallWorld is a world so small that all its schedules can be played: one key or two, one partition, few events. The topic may grow.
type smallWorld struct {
	name    string
	log     string // per message the visitor and the id, or - for a dead letter; after | the topic's next generation, with two partitions
	chunk   int64  // offsets
	ahead   bool   // the next chunk is prepared before one is counted
	endings []ending
	blows   []blow
	allowance
	away    time.Duration // how long a replica does not answer
	died    bool          // an earlier owner crashed before it counted anything
	retires bool          // March is retired when all is counted
	twoKeys bool          // each visitor clicks on a link of its own
	days    bool          // each event is of a day of its own, and so has a name of its own in the lists
	poll    time.Duration
}

// new makes a world for one play.
func (s smallWorld) new(c controls, p *path) *world {
	w := emptyWorld(c)
	if s.poll == 0 {
		s.poll = 5 * time.Second
	}
	fate := &schedule{world: w, path: p, small: s, left: s.allowance}
	fate.left.turns += *simWorlds
	w.fate, w.span, w.knocks, w.back = fate, s.chunk, make(chan struct{}, 1), time.Now().Add(s.away)
	w.takings = map[models.Partition]taking{}
	only := models.Partition{Topic: "clicks"}
	if s.retires {
		only.Topic, w.store.Full = "visits", 1
	}
	w.partitions = []models.Partition{only}
	if s.died {
		w.store.OwnerRows[only] = memstore.OwnerRow{Tenure: store.Tenure{Partition: only, Owner: "somebody", Epoch: w.nextEpoch(0)}}
	}
	s.compose(w)
	if s.retires {
		w.write(len(w.unwritten) - 1)
	} else {
		w.write(len(w.unwritten))
	}
	if s.grows() {
		w.seal()
	}
	return w
}

// compose makes the log.
func (s smallWorld) compose(w *world) {
	for i, m := range strings.Fields(s.log) {
		if m == "|" {
			w.partitions = append(w.partitions, heirsOfClicks[:2]...)
			continue
		}
		ts := models.Earliest + models.Millis(i)*1000
		next := unwritten{w.partitions[0], logged{at: ts.Time()}}
		if s.days {
			ts = models.Earliest + models.Millis(i)*models.Millis(24*time.Hour/time.Millisecond)
		}
		switch {
		case m == "-":
		case s.retires:
			next.Event = &models.Visit{V: 1, ID: m[1:], SiteID: "site", GUID: m[:1], TS: ts, Features: []string{"", ""}}
		default:
			link := "link"
			if s.twoKeys {
				link += m[:1]
			}
			next.Event = &models.Click{V: 1, ID: m[1:], ShortURL: link, IP: m[:1], TS: ts}
		}
		if heirs := w.partitions[1:]; len(heirs) > 0 && next.Event != nil {
			next.p = heirs[eventlog.PartitionOf([]byte(next.KafkaKey()), eventlog.PartitionNumbers(len(heirs)))]
		}
		w.unwritten = append(w.unwritten, next)
	}
}

func (s smallWorld) grows() bool { return strings.Contains(s.log, "|") }

// play plays one schedule and compares the counters with the log.
func (s smallWorld) play(t *testing.T, c controls, p *path, tell func(string, ...any)) (err error) {
	synctest.Test(t, func(t *testing.T) {
		w := s.new(c, p)
		w.tell = tell
		_, err = w.run(t.Context())
	})
	return err
}

func silent(string, ...any) {}

// playAll plays every schedule until each returns false, and returns how many it played.
func (s smallWorld) playAll(t *testing.T, c controls, each func(n int, p *path, err error) bool) int {
	p := &path{}
	for n := 1; ; n++ {
		if err := s.play(t, c, p, silent); !each(n, p, err) || !p.next() {
			return n
		}
	}
}

// parse reads a schedule as a failure prints it.
func parse(t *testing.T, text string) *path {
	t.Helper()
	p := &path{}
	for _, field := range strings.Split(text, ",") {
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		p.taken, p.of = append(p.taken, n), append(p.of, 0)
	}
	return p
}

var (
	// anything is every ending of a write but done.
	anything = []ending{unheard, late, lost, failed, disconnected}
	// smallWorlds are the worlds that are played. In each, at least two owners follow each other.
	smallWorlds = []smallWorld{
		{name: "write", log: "a1 - a2 a1 b1", chunk: 3, endings: anything, blows: []blow{crash, leave, freeze},
			allowance: allowance{writes: 1, blows: 1}},
		{name: "two keys", log: "a1 b1 a2 b2", twoKeys: true, chunk: 2, endings: anything, blows: []blow{crash, leave, freeze}, allowance: allowance{writes: 1, blows: 1}},
		{name: "ahead", log: "a1 a2 - b1", chunk: 2, ahead: true, endings: []ending{late, lost}, blows: []blow{crash, freeze},
			allowance: allowance{writes: 1, blows: 1}},
		{name: "set back", log: "a1 - a2 a1 b1 b2", chunk: 2, blows: []blow{crash, leave, freeze}, allowance: allowance{blows: 1, setBacks: 1}},
		{name: "set back, write", log: "a1 - b1", chunk: 2, endings: []ending{late}, blows: []blow{crash, leave},
			allowance: allowance{writes: 1, blows: 1, setBacks: 1}},
		{name: "far back", log: "a1 a2 a3 a4", chunk: 1, endings: []ending{late}, blows: []blow{crash},
			allowance: allowance{writes: 1, blows: 1, setBacks: 1}},
		{name: "forward", log: "a1 - a2 b1", chunk: 2, blows: []blow{crash, leave, freeze}, allowance: allowance{blows: 1, forwards: 1}},
		{name: "call", log: "a1 b1 a2", chunk: 2, blows: []blow{crash, leave}, allowance: allowance{calls: 1, blows: 1}},
		{name: "names", log: "a1 - b1", days: true, chunk: 1, ahead: true, blows: []blow{crash, leave}, allowance: allowance{calls: 1, blows: 1}},
		{name: "turns", log: "a1 a2 b1", chunk: 2, blows: []blow{freeze}, allowance: allowance{blows: 1, turns: 1}},
		{name: "replica", log: "a1 a2 b1", chunk: 2, endings: []ending{hidden}, away: 90 * time.Second, blows: []blow{crash, freeze},
			allowance: allowance{writes: 1, blows: 1}},
		{name: "restart", log: "a1 a2 b1", chunk: 2, endings: []ending{late}, blows: []blow{restart}, allowance: allowance{writes: 1, blows: 1}},
		{name: "audit", log: "a1 a2 b1", chunk: 2, endings: []ending{late, unheard}, blows: []blow{audit},
			allowance: allowance{writes: 1, blows: 1, turns: 1}},
		{name: "transaction", log: "a1 a2 b1", chunk: 2, died: true, blows: []blow{freeze}, allowance: allowance{blows: 1, odd: 1, turns: 1}},
		{name: "retire", log: "a1 b1 a2 c1", chunk: 2, retires: true, poll: 200 * time.Millisecond, blows: []blow{crash, leave},
			allowance: allowance{blows: 1}},
		{name: "grow", log: "a1 | a2 a1", chunk: 2, blows: []blow{crash}, allowance: allowance{blows: 1, turns: 1}},
		{name: "grow, pause", log: "a1 | a2 a1", chunk: 2, blows: []blow{freeze}, allowance: allowance{blows: 1}},
	}
)

// The small worlds run the same code as the simulation, through every schedule: each fault of one write, one call or one consumer, at
// every step. Nothing is left to chance, but few faults happen in one play.
func TestSmallWorlds(t *testing.T) {
	var total atomic.Int64
	t.Run("all", func(t *testing.T) {
		for _, s := range smallWorlds {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				if *simSchedule != "" {
					if err := s.play(t, controls{}, parse(t, *simSchedule), t.Logf); err != nil {
						t.Error(err)
					}
					return
				}
				n := s.playAll(t, controls{}, func(n int, p *path, err error) bool {
					if err != nil {
						t.Errorf("schedule %v: %v\nreplay it: go test ./consumer/rollup -run 'TestSmallWorlds/all/%s$' -sim.schedule %v -v", p, err,
							strings.ReplaceAll(s.name, " ", "_"), p)
					}
					return err == nil && (!brief() || n < briefSchedules)
				})
				t.Logf("%d schedules", n)
				total.Add(int64(n))
			})
		}
	})
	t.Logf("%d schedules of %d small worlds", total.Load(), len(smallWorlds))
}

// briefSchedules is how many schedules of a world a brief run plays: with the race detector each takes ten times as long, and it finds
// little new after a few.
const briefSchedules = 200

// A small world must find each control, or the worlds are too small.
func TestSmallWorldsSee(t *testing.T) {
	if brief() {
		t.Skip("takes minutes, more with the race detector, which sees nothing new: neither with -race nor with -short")
	}
	f := func(name, world string, c controls) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := smallWorlds[slices.IndexFunc(smallWorlds, func(s smallWorld) bool { return s.name == world })]
			var wrong error
			n := s.playAll(t, c, func(_ int, _ *path, err error) bool {
				wrong = err
				return err == nil
			})
			if wrong == nil {
				t.Fatalf("%s goes unnoticed in all %d schedules of the world %q", name, n, world)
			}
			t.Logf("found by schedule %d of the world %q", n, world)
		})
	}
	f("ledger off", "write", controls{noLedger: true})
	f("blind retry", "write", controls{blindRetry: true})
	f("LRU filled before the insert", "call", controls{earlyLRU: true})
	f("repair shrinks an owner's row", "set back", controls{shrinks: true})
	f("store loses acknowledged writes", "restart", controls{forgetful: true})
	f("duplicates counted", "write", controls{noDuplicate: true})
	f("ids forgotten at dead letters", "write", controls{forgetsIDs: true})
	f("doubts never checked", "write", controls{noRechecks: true})
	f("doubts never noted", "write", controls{noDoubts: true})
	f("some replicas taken for all", "replica", controls{anyReplica: true})
	f("doubts too short", "write", controls{shortDoubts: true})
	f("ledger not read", "set back", controls{noReading: true})
	f("moved groups believed", "forward", controls{believing: true})
	f("positions not read again", "write", controls{noForgetting: true})
	f("retirements not noticed", "retire", controls{deaf: true})
	f("retirements too hasty", "retire", controls{hasty: true})
	f("epochs without random bits", "transaction", controls{sharedEpochs: true})
	f("generations not one after the other", "grow", controls{noGate: true})
	f("ids of the generation before not known", "grow", controls{noInherit: true})
	f("names listed when there is time", "names", controls{lateNames: true})
	f("names listed after their counters", "names", controls{namesAfter: true})
}
