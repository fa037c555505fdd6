package visitorrows

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"footfall/consumer/eventlog"
	"footfall/models"
)

// world is a log of visits, and what the rule of sightings says of it: a visit is first where its position is the one that is remembered.
type world struct {
	t    *testing.T
	r    *rand.Rand
	plan *models.Plan
	full int
	seen map[models.Sighting]models.Position // the truth
	rows map[models.Visitor][]models.First   // the store's
}

// calendar is how many days a row has: those of a month, and of the week that it begins in.
const calendar = 31 + 6

func (w *world) visit() *models.Visit {
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC).UnixMilli() + w.r.Int64N(20*dayMillis) // over the end of a month within a week
	v := &models.Visit{SiteID: fmt.Sprint("s", w.r.IntN(2)), GUID: fmt.Sprint("g", w.r.IntN(4)), TS: models.Millis(at), Plan: w.plan}
	for range w.plan.Features() {
		v.Features = append(v.Features, []string{"", "x", "y", "z"}[w.r.IntN(4)])
	}
	return v
}

// chunk decides some visits, perhaps while those of the chunk before are not stored yet. It returns a function that stores what is fresh, unless
// that fails.
func (w *world) chunk(c, before *Chunk, visits []*models.Visit, at []models.Position) (keep func(fails bool)) {
	for i, v := range visits {
		c.Ask(v, models.Partition{Topic: at[i].Topic, Number: at[i].Partition}, before)
	}
	w.learn(c)
	for i, v := range visits {
		c.AskBeyond(v, models.Partition{Topic: at[i].Topic, Number: at[i].Partition}, before)
	}
	w.learn(c)
	for i, v := range visits {
		got := v.AppendFirst(nil, c.Decide(v, at[i]))
		for j, s := range v.Sightings() {
			if _, known := w.seen[s]; !known {
				w.seen[s] = at[i]
			}
			if want := w.seen[s] == at[i]; got[j] != want {
				w.t.Fatalf("visit %v at %v is first of %+v: %v, want %v", v, at[i], s, got[j], want)
			}
		}
	}
	return func(fails bool) {
		defer c.Forget()
		w.keep(c, fails)
	}
}

// learn reads what the chunk does not know, in any order.
func (w *world) learn(c *Chunk) {
	type entry struct {
		i     int
		first models.First
	}
	var entries []entry
	for i, v := range c.Unknown() {
		for _, first := range w.rows[v] {
			entries = append(entries, entry{i, first})
		}
	}
	w.r.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	for _, e := range entries {
		c.Learn(e.i, e.first)
	}
	c.Learnt()
}

// keep stores what is fresh: some of it if it fails.
func (w *world) keep(c *Chunk, fails bool) {
	visitors, firsts := c.Fresh()
	for i, v := range visitors {
		for _, f := range firsts[i] {
			if fails && w.r.IntN(2) == 0 {
				continue
			}
			w.rows[v] = append(slices.DeleteFunc(w.rows[v], func(o models.First) bool { return o.At == f.At }), f)
		}
		if most := calendar + w.full; len(w.rows[v]) > most {
			w.t.Fatalf("a row has %d entries, want at most %d", len(w.rows[v]), most)
		}
		if v.Under != "" && len(w.rows[v]) > calendar {
			w.t.Fatalf("the row under %q has %d entries, want at most one a day", v.Under, len(w.rows[v]))
		}
	}
	if !fails {
		c.Keep()
	}
}

// By rows the same is decided as by sightings: in chunks of any size, with any plan, with small caches and none, with full rows, when chunks are
// decided again because a part of their rows was not stored, when a chunk is decided before the rows of the one before are stored, and when the log
// is read again from some place.
func TestRowsDecideAsSightingsDo(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		metrics := slices.DeleteFunc(models.AllMetrics(), func(string) bool { return r.IntN(4) == 0 })
		plan, err := models.NewPlan(names[:1+r.IntN(len(names))], append(metrics[:len(metrics):len(metrics)], unlessThere(metrics)...))
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, r: r, plan: plan, full: []int{1, 3, 20, 1000}[r.IntN(4)], seen: map[models.Sighting]models.Position{},
			rows: map[models.Visitor][]models.First{}}
		var visits []*models.Visit
		var at []models.Position
		for i := range 200 {
			visits = append(visits, w.visit())
			generation := i / 120
			at = append(at, models.Position{Topic: []string{"visits", "visits-g2"}[generation], Partition: generation, Offset: int64(i - 100*generation)})
		}
		cache := New(eventlog.NewHasher(), []int{0, 1, 10, 1000}[r.IntN(4)])
		chunks := [2]*Chunk{cache.NewChunk(w.full), cache.NewChunk(w.full)}
		var before *Chunk // it is decided and not stored
		keep := func(bool) {}
		settle := func() {
			keep(false)
			before, keep = nil, func(bool) {}
		}
		for i := 0; i < len(visits); {
			end := min(len(visits), i+1+r.IntN(40))
			for r.IntN(3) == 0 {
				settle()
				w.chunk(chunks[0], nil, visits[i:end], at[i:end])(true)
			}
			now := chunks[0]
			if now == before {
				now = chunks[1]
			}
			next := w.chunk(now, before, visits[i:end], at[i:end])
			settle()
			before, keep = now, next
			i = end
			switch r.IntN(12) {
			case 0:
				settle()
				cache.Purge()
			case 1: // read again
				settle()
				i = r.IntN(i + 1)
			case 2, 3, 4:
				settle()
			}
		}
	}
}

func unlessThere(metrics []string) []string {
	if len(metrics) == 0 {
		return []string{models.DayUnique}
	}
	return nil
}

// A consumer may count a visitor in one generation of a topic and in the next but one, and another consumer in the one between. So a row is known
// only to the partition in which it was learnt.
func TestARowIsNotKnownToAnotherPartition(t *testing.T) {
	cache := New(eventlog.NewHasher(), 100)
	c := cache.NewChunk(models.FullRow)
	v := &models.Visit{SiteID: "s", GUID: "g", TS: 1_790_000_000_000, Features: []string{"", ""}}
	f := func(topic string, unknown int) {
		t.Helper()
		defer c.Forget()
		c.Ask(v, models.Partition{Topic: topic}, nil)
		if len(c.Unknown()) != unknown {
			t.Errorf("%d rows are unknown to %s, want %d", len(c.Unknown()), topic, unknown)
		}
		c.Learnt()
		c.Decide(v, models.Position{Topic: topic})
		c.Keep()
	}
	f("visits", 1)
	f("visits", 0)
	f("visits-g3", 1)
	f("visits-g3", 0)
}

// An entry that cannot be one, because somebody wrote it by hand, does not fill a row: neither for who reads it nor for who has it in the cache.
func TestEntriesByHandDoNotFillARow(t *testing.T) {
	const full = 3
	cache := New(eventlog.NewHasher(), 100)
	c := cache.NewChunk(full)
	v := &models.Visit{SiteID: "s", GUID: "g", TS: models.Earliest, Features: []string{"", ""}}
	for n := range int64(2) {
		c.Ask(v, models.Partition{Topic: "visits"}, nil)
		if n == 0 {
			for i := range int64(full) {
				c.Learn(0, models.First{At: models.Position{Topic: "visits", Offset: i}, Day: v.TS.Day() + 100*dayMillis, Features: v.Features})
			}
			c.Learn(0, models.First{At: models.Position{Topic: "visits"}, Day: v.TS.Day(), Features: []string{"one"}})
			c.Learnt()
		}
		if c.IsFull() {
			t.Error("a row without entries is full")
		}
		c.Decide(v, models.Position{Topic: "visits", Offset: 100 + n})
		c.Keep()
		c.Forget()
	}
}

// How much memory visitors take.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		cache := New(eventlog.NewHasher(), 1_000_000)
		c := cache.NewChunk(models.FullRow)
		for i := range 1_000_000 {
			v := &models.Visit{SiteID: "s", GUID: fmt.Sprint(i), TS: 1_790_000_000_000, Features: []string{"google.com", "/page"}}
			c.Ask(v, models.Partition{Topic: "visits", Number: i % 6}, nil)
			c.Learnt()
			c.Decide(v, models.Position{Topic: "visits", Partition: i % 6, Offset: int64(i)})
			c.Keep()
			c.Forget()
		}
		b.ReportMetric(float64(len(cache.young.ends)+len(cache.old.ends)), "visitors")
		b.ReportMetric(float64(cache.young.slab.used+cache.old.slab.used)*float64(8*cache.young.slab.words()), "bytes")
	}
	b.ReportAllocs()
}
