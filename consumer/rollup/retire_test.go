package rollup

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

var visits0 = models.Partition{Topic: "visits", Number: 0}

// visitAt is a visit of a day of March or April 1973.
func visitAt(month time.Month, day int) *models.Visit {
	return &models.Visit{
		V: 1, ID: fmt.Sprint(month, day), SiteID: "site", GUID: "guid", Features: []string{"", ""},
		TS: models.Millis(time.Date(1973, month, day, 12, 0, 0, 0, time.UTC).UnixMilli()),
	}
}

func TestRetirementsAreFactsOfTheLog(t *testing.T) {
	f := func(r store.Retirement, p models.Partition, offset int64, e models.Event, wantRefused, wantPast bool) {
		t.Helper()
		list := store.Retirements{r}
		why := list.Refuse(p, offset, e)
		if (why != nil) != wantRefused || why != nil && why.Reason != models.ReasonIntervalRetired || list.Past(p, offset, e) != wantPast {
			t.Errorf("%+v, offset %d of %v: refused %v, past %v", r, offset, p, why, list.Past(p, offset, e))
		}
	}
	announced := store.Retirement{Before: april, Topic: "visits"}
	decided := store.Retirement{Before: april, Topic: "visits", From: map[int]int64{0: 10, 1: 0}}
	done := decided
	done.Done = true
	march, later := visitAt(time.March, 31), visitAt(time.April, 1)
	f(announced, visits0, 10, march, false, false)
	f(decided, visits0, 9, march, false, false)
	f(decided, visits0, 10, march, true, false)
	f(decided, visits0, 10, later, false, false)
	f(decided, models.Partition{Topic: "visits", Number: 1}, 0, march, true, false)
	f(decided, models.Partition{Topic: "visits-2", Number: 0}, 0, march, true, false)
	f(decided, visits0, 10, &models.Click{TS: march.TS}, false, false)
	f(done, visits0, 9, march, false, true)
	f(done, visits0, 9, later, false, false)
	f(done, visits0, 10, march, true, false)
}

// A visit that a retirement speaks of is held until it is decided; if that never comes, the retirement is given up.
func TestVisitsAreHeldUntilTheRetirementIsDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		b := newBoard(m, slog.New(slog.NewTextHandler(io.Discard, nil)))
		took := func(e models.Event) time.Duration {
			started := time.Now()
			if err := b.await(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			return time.Since(started)
		}
		march := visitAt(time.March, 5)
		if d := took(march); d != 0 {
			t.Errorf("held %v without a reason", d)
		}
		_ = m.Announce(t.Context(), store.Retirement{Before: april, Topic: "visits"})
		if d := took(march); d != 0 {
			t.Errorf("held %v by a copy that is new enough", d)
		}
		time.Sleep(store.NoticeAge)
		if d := took(visitAt(time.April, 5)) + took(&models.Click{TS: march.TS}); d != 0 {
			t.Errorf("held %v though nobody speaks of it", d)
		}
		time.AfterFunc(5*time.Second, func() {
			_, _ = m.Decide(context.Background(), store.Retirement{Before: april, Topic: "visits"}, map[int]int64{0: 7})
		})
		if d := took(march); d < 5*time.Second || d > 6*time.Second || b.list().Refuse(visits0, 7, march) == nil {
			t.Errorf("held %v, then %+v", d, b.list())
		}

		may := models.Millis(time.Date(1973, time.May, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
		_ = m.Announce(t.Context(), store.Retirement{Before: may, Topic: "visits"})
		time.Sleep(store.NoticeAge)
		if d := took(march); d < holdPatience || d > 2*holdPatience || len(b.list()) != 1 {
			t.Errorf("held %v by a retirement that nobody decides; left: %+v", d, b.list())
		}
	})
}

// A repair that would need rows which are gone refuses to guess; the other keys are repaired all the same.
func TestRepairOfWhatIsRetired(t *testing.T) {
	m := newMemory()
	m.notices.Retirements = []store.Retirement{{Before: april, Topic: "visits", From: map[int]int64{0: 100}, Done: true}}
	c := &checker{store: m}
	f := func(want bool, v *models.Visit) {
		t.Helper()
		retired, err := c.decide(t.Context(), []*counted{{partition: visits0, offset: 1, event: v}})
		if err != nil || retired[1] != want {
			t.Errorf("%v: %v, %v", v.TS.Time(), retired, err)
		}
	}
	f(true, visitAt(time.March, 5))
	f(true, visitAt(time.March, 31)) // its week is not over, but its day is
	f(false, visitAt(time.April, 1))

	march, later := models.Key{Name: "march"}, models.Key{Name: "later"}
	broken := map[models.Key][]excess{march: {{span{0, 3}, 1}}, later: {{span{0, 3}, 1}}}
	candidates := map[models.Key][]contribution{march: {{offset: 1}, {offset: 2}}, later: {{offset: 2}, {offset: 7}}}
	if err := dropBlind(broken, candidates, map[int64]bool{1: true, 7: true}); !unreadable(err) || len(broken) != 1 || broken[later] == nil {
		t.Errorf("%v, left to repair: %v", err, broken)
	}
	if err := dropBlind(broken, candidates, nil); err != nil || len(broken) != 1 {
		t.Errorf("with nobody retired: %v, left to repair: %v", err, broken)
	}
}

func TestRetireSaysWhatItWaitsFor(t *testing.T) {
	counted, force := int64(1), false
	f := func(group counting, doubts []store.Doubt, a Audit, want string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			m.doubts[visits0] = doubts
			sighting := visitAt(time.March, 5).Sightings()[0]
			m.first[sighting] = models.Position{}
			key, cell := sighting.Counted()
			m.cells[key] = map[models.Cell]int64{cell: counted}
			var lines []string
			r := &retirer{
				store: m, topic: "visits", force: force,
				ends:  func(context.Context) (map[int]int64, error) { return map[int]int64{0: 10}, nil },
				group: func(context.Context, string) (counting, error) { return group, nil },
				audit: func(ctx context.Context, _ string) (Audit, error) { // takes longer than it may wait
					return a, sleep(ctx, 2*time.Minute)
				},
				report: func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) },
			}
			err := r.run(t.Context(), april, time.Minute)
			printed := strings.Join(append(lines, fmt.Sprint(err)), "\n")
			if !strings.Contains(printed, want) {
				t.Errorf("printed\n%s\nwant %q", printed, want)
			}
			if _, kept := m.first[sighting]; kept != (err != nil) {
				t.Errorf("%v, and the row is kept: %v", err, kept)
			}
		})
	}
	all := map[int]int64{0: 10}
	f(counting{1, all}, nil, Audit{}, "1 partitions of visitors removed")
	f(counting{1, map[int]int64{0: 7}}, nil, Audit{}, "waiting: 3 visits are not counted yet")
	f(counting{0, map[int]int64{0: 7}}, nil, Audit{}, "nobody counts: the group has no members, start a consumer")
	f(counting{1, all}, []store.Doubt{{From: 9, To: 20}}, Audit{}, "waiting: 1 doubts about visits are open")
	f(counting{1, all}, []store.Doubt{{From: 10, To: 20}}, Audit{}, "removed") // that is about later visits
	f(counting{1, all}, nil, Audit{Keys: 5, Off: 1}, "found 1 off")
	f(counting{1, all}, nil, Audit{Keys: 5, Unreadable: 1}, "nothing is removed")
	counted = 0
	f(counting{1, all}, nil, Audit{}, `cardinality "site" 1973-03 ["" ""] month_unique 1973-03-01T00:00Z: 1 visitors have rows, 0 are counted`)
	f(counting{1, all}, nil, Audit{}, "1 counts are lower than the visitors that have rows, so nothing is removed")
	force = true
	f(counting{1, all}, nil, Audit{}, "1 partitions of visitors removed")
	counted, force = 3, false
	f(counting{1, all}, nil, Audit{}, "1 counts are higher than the visitors that have rows")
}

// A retirement was announced, its process died, and the topic has grown since. No old visit need ever come by for a consumer to give it up.
func TestARetirementThatWasAnnouncedBeforeTheTopicGrew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		_ = m.Announce(t.Context(), store.Retirement{Before: april, Topic: "visits"})
		r := &retirer{
			store: m, topic: "visits-g2",
			ends:   func(context.Context) (map[int]int64, error) { return map[int]int64{0: 10, 1: 20}, nil },
			group:  func(context.Context, string) (counting, error) { return counting{1, map[int]int64{0: 10, 1: 20}}, nil },
			audit:  func(context.Context, string) (Audit, error) { return Audit{}, nil },
			report: t.Logf,
		}
		if err := r.run(t.Context(), april, time.Minute); err != nil {
			t.Fatal(err)
		}
		if got, err := r.find(t.Context(), april); err != nil || got.Topic != "visits-g2" || got.From[1] != 20 || !got.Done {
			t.Errorf("retired: %+v, %v", got, err)
		}
	})
}

// What was counted before a retirement was done with is left out when it comes by again, whenever that is noticed; what came
// after is put among the dead letters.
func TestOldVisitsAreNotCountedAgain(t *testing.T) {
	m := newMemory()
	o := newOwner(t, m, 0)
	o.board = newBoard(m, o.log)
	o.partitions[visits0] = &owned{window: newWindow(reach{100, time.Hour}, 0), highWater: 100}
	done := []store.Retirement{{Before: april, Topic: "visits", From: map[int]int64{0: 2}, Done: true}}
	march := func(offset int64) item {
		v := visitAt(time.March, 5)
		v.ID = fmt.Sprint(offset)
		return item{partition: visits0, offset: offset, event: v, value: []byte("bytes")}
	}
	chunkOf := func() *chunk {
		c := newChunk()
		for offset := range int64(3) {
			it := march(offset)
			if err := o.board.await(t.Context(), it.event); err != nil {
				t.Fatal(err)
			}
			o.add(c, it)
		}
		return c
	}
	c := chunkOf() // nothing is retired
	if len(c.events) != 3 || len(c.dead) != 0 {
		t.Fatalf("%d events, %d dead", len(c.events), len(c.dead))
	}
	o.lookAhead(t.Context(), c)
	m.notices.Retirements = done
	o.board.asked = time.Time{}
	flush(t, o, c) // done with while the chunk was under way
	if len(c.events) != 1 || c.events[0].offset != 2 {
		t.Errorf("left after the flush: %d events", len(c.events))
	}
	key := models.Key{Keyspace: models.Cardinality, Name: "site", Month: visitAt(time.March, 5).TS.Month(), Features: models.NewFeatures("", "")}
	if views := m.cells[key][models.Cell{Counter: models.MonthViews, At: key.Month}]; views != 1 {
		t.Errorf("%d views, want that of the visit which came later", views)
	}
	o.partitions[visits0].window = newWindow(reach{100, time.Hour}, 0)
	c = chunkOf()
	if len(c.events) != 0 || len(c.dead) != 1 {
		t.Fatalf("%d events, %d dead", len(c.events), len(c.dead))
	}
	letter := c.dead[0].encode()
	if string(letter.Key) != "site|guid" || string(letter.Value) != "bytes" || string(letter.Headers[0].Value) != "interval_retired" {
		t.Errorf("dead letter %+v", letter)
	}
}

// A check must not take a refused visit for one that was counted.
func TestChecksLeaveOutWhatIsRefused(t *testing.T) {
	w := newWorld(1, controls{})
	p := models.Partition{Topic: "visits", Number: 0}
	w.log[p] = nil
	for i := range 6 {
		v := visitAt(time.March, 5)
		v.ID = fmt.Sprint(i)
		w.log[p] = append(w.log[p], logged{v, time.Now()})
	}
	w.store.notices.Retirements = []store.Retirement{{Before: april, Topic: "visits", From: map[int]int64{0: 4}}}
	events, _, err := w.checker(w.store).events(t.Context(), p, span{2, 6})
	if err != nil || len(events) != 2 || events[1].offset != 3 {
		t.Errorf("%d events, %v; want those below 4", len(events), err)
	}
}

// Who was forgotten is not remembered either.
func TestForgottenVisitorsAreNew(t *testing.T) {
	m := newMemory()
	o := newOwner(t, m, 100)
	o.board = newBoard(m, o.log)
	if err := o.board.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	flush(t, o, chunkOf(o, p0, "a", "b"))
	wantCounts(t, m, 2, 2)
	clear(m.first)
	flush(t, o, chunkOf(o, p0, "a"))
	wantCounts(t, m, 3, 2) // nobody has said anything
	m.notices.Forgotten = "once"
	o.board.asked = o.board.asked.Add(-store.NoticeAge)
	if err := o.board.fresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	flush(t, o, chunkOf(o, p0, "a", "b", "a"))
	wantCounts(t, m, 6, 4)
	lookups := m.lookups
	flush(t, o, chunkOf(o, p0, "a"))
	if wantCounts(t, m, 7, 4); m.lookups != lookups {
		t.Error("forgotten again and again")
	}
}
