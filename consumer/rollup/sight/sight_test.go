package sight

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/eventlog"
	"footfall/consumer/rollup/packed"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// slow is a store that stores rows when the test lets it: nil stores them, an error does not. Meanwhile it answers questions, which
// Memory does not while OnRemember runs.
type slow struct {
	*memstore.Memory
	lets chan error
}

func (s slow) wait() error {
	if s.lets == nil {
		return nil
	}
	return <-s.lets
}

func (s slow) Remember(ctx context.Context, sightings []models.Sighting, first []models.Position) error {
	if err := s.wait(); err != nil {
		return err
	}
	return s.Memory.Remember(ctx, sightings, first)
}

func (s slow) RememberFirsts(ctx context.Context, visitors []models.Visitor, firsts [][]models.First) error {
	if err := s.wait(); err != nil {
		return err
	}
	return s.Memory.RememberFirsts(ctx, visitors, firsts)
}

// chunk is a chunk that grows.
type chunk struct {
	t       *testing.T
	v       *Visitors
	events  *packed.Events
	decided int
	begin   int64 // its first offset
}

func newChunk(t *testing.T, lets chan error, size int) *chunk {
	n := func() prometheus.Counter { return prometheus.NewCounter(prometheus.CounterOpts{Name: "n"}) }
	db := slow{memstore.New(), lets}
	return &chunk{t: t, v: New(db, eventlog.NewHasher(), size, models.FullRow, 1<<20, n(), n()), events: packed.New(false)}
}

// add adds a click and a visit of each visitor.
func (c *chunk) add(visitors ...string) {
	for _, who := range visitors {
		at := c.begin + int64(c.events.Len()/2)
		c.events.Add(models.Partition{Topic: "clicks"}, at, &models.Click{V: 1, ShortURL: "abc", IP: who, TS: models.Earliest})
		c.events.Add(models.Partition{Topic: "visits"}, at, &models.Visit{V: 1, SiteID: "shop", GUID: who, TS: models.Earliest, Features: []string{"x", "y"}})
	}
}

func (c *chunk) ahead() error {
	era, err := c.v.DecideAhead(c.t.Context(), c.events, c.decided)
	if err == nil {
		c.decided = era
	}
	return err
}

func (c *chunk) decide() error {
	era, err := c.v.Decide(c.t.Context(), c.events, c.decided)
	if err == nil {
		c.decided = era
	}
	return err
}

// wants checks which of the visitors' turns are their first: a letter that is upper case.
func (c *chunk) wants(want string) {
	c.t.Helper()
	var clicks, visits string
	for _, e := range c.events.All() {
		switch event := e.Event.(type) {
		case *models.Click:
			clicks += mark(event.IP, e.First)
		case *models.Visit:
			visits += mark(event.GUID, e.First)
		}
	}
	if clicks != want || visits != want {
		c.t.Errorf("the first events are %s and %s, want %s", clicks, visits, want)
	}
}

func mark(who string, first []bool) string {
	for _, f := range first {
		if f != first[0] {
			return "?"
		}
	}
	if len(first) > 0 && first[0] {
		return string(who[0] - 'a' + 'A')
	}
	return who
}

// While the rows of a part are on their way to the store, the next part takes its visitors for seen; with a cache and without.
func TestAPartKnowsTheOneBefore(t *testing.T) {
	for _, size := range []int{0, 1, 1000} {
		synctest.Test(t, func(t *testing.T) {
			lets := make(chan error)
			c := newChunk(t, lets, size)
			let := func(n int) {
				for range n {
					lets <- nil
				}
			}
			c.add("a", "b", "a")
			if err := c.ahead(); err != nil {
				t.Fatal(err)
			}
			c.wants("ABa")
			c.add("b", "c", "a", "c")
			go let(4) // a link's and a site's of each part
			if err := c.ahead(); err != nil {
				t.Fatal(err)
			}
			c.add("c", "a")
			if err := c.decide(); err != nil {
				t.Fatal(err)
			}
			c.wants("ABabCacca")
			c.begin, c.events, c.decided = 100, packed.New(false), 0
			c.add("b", "d")
			go let(2)
			if err := c.decide(); err != nil {
				t.Fatal(err)
			}
			c.wants("bD")
		})
	}
}

// If rows could not be stored, all that was decided since is decided again, also what was taken for seen because of them.
func TestRowsThatCouldNotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lets := make(chan error)
		c := newChunk(t, lets, 1000)
		c.add("a", "b")
		if err := c.ahead(); err != nil {
			t.Fatal(err)
		}
		c.add("b", "c")
		lost := errors.New("lost")
		go func() { lets <- lost }()
		if err := c.ahead(); !errors.Is(err, lost) {
			t.Fatalf("got %v, want that rows were lost", err)
		}
		go func() {
			for range 2 {
				lets <- nil
			}
		}()
		if err := c.decide(); err != nil {
			t.Fatal(err)
		}
		c.wants("ABbC")
		found, err := c.v.store.FirstSeen(t.Context(), []models.Sighting{{Keyspace: models.URLShortener, Name: "abc", Visitor: "b"}})
		if err != nil || fmt.Sprint(found) != "[{clicks 0 1}]" {
			t.Errorf("b was seen first at %v, want offset 1: %v", found, err)
		}
	})
}

// Rows that were lost before anybody waited for them are told of all the same: the caller has to empty its caches if the connection was lost.
func TestRowsThatWereLostMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lets := make(chan error, 1)
		c := newChunk(t, lets, 1000)
		c.add("a")
		if err := c.ahead(); err != nil {
			t.Fatal(err)
		}
		lost := errors.New("lost")
		lets <- lost
		synctest.Wait()
		c.add("b")
		if err := c.ahead(); !errors.Is(err, lost) {
			t.Errorf("got %v, want that rows were lost", err)
		}
	})
}

// A chunk that is decided waits neither for another that is decided ahead, nor for rows of it that are on their way.
func TestADecidedChunkDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lets := make(chan error)
		c := newChunk(t, lets, 1000)
		c.add("a")
		go func() { lets <- nil; lets <- nil }()
		if err := c.decide(); err != nil {
			t.Fatal(err)
		}
		next := &chunk{t: t, v: c.v, events: packed.New(false), begin: 1}
		next.add("a", "b")
		if err := next.ahead(); err != nil {
			t.Fatal(err)
		}
		if err := c.decide(); err != nil {
			t.Fatal(err)
		}
		c.wants("A")
		go func() { lets <- nil; lets <- nil }()
		if err := c.v.Wait(); err != nil {
			t.Fatal(err)
		}
		next.wants("aB")
	})
}

// Decide waits for the rows that DecideAhead has sent, and tells if they were lost.
func TestDecideWaitsForRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lets, ended := make(chan error), make(chan error)
		c := newChunk(t, lets, 1000)
		c.add("a")
		if err := c.ahead(); err != nil {
			t.Fatal(err)
		}
		go func() { ended <- c.decide() }()
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		lost := errors.New("lost")
		lets <- nil
		lets <- lost
		if err := <-ended; !errors.Is(err, lost) {
			t.Errorf("got %v, want that a row was lost", err)
		}
	})
}

// After a fault that may have cost rows, rows that were acknowledged before it are not trusted, and are stored again.
func TestRowsAreStoredAgainAfterADrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChunk(t, nil, 1000)
		c.add("a")
		if err := c.ahead(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		db := c.v.store.(slow).Memory
		clear(db.First)
		clear(db.Rows)
		c.v.Drop()
		if err := c.decide(); err != nil {
			t.Fatal(err)
		}
		c.wants("A")
		if len(db.First) != 1 || len(db.Rows) != 1 {
			t.Errorf("the store has %d and %d visitors, want one each", len(db.First), len(db.Rows))
		}
	})
}

// Rows that were on their way when the caches were emptied are not cached: the store may have lost them.
func TestRowsOnTheirWayAreNotCachedAfterADrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lets := make(chan error)
		c := newChunk(t, lets, 1000)
		c.add("a")
		if err := c.ahead(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		c.v.Drop()
		lets <- nil
		lets <- nil
		synctest.Wait()
		db := c.v.store.(slow).Memory
		clear(db.First)
		clear(db.Rows)
		close(lets)
		if err := c.decide(); err != nil {
			t.Fatal(err)
		}
		if len(db.First) != 1 || len(db.Rows) != 1 {
			t.Errorf("the store has %d and %d visitors, want one each", len(db.First), len(db.Rows))
		}
	})
}

// After Resize no row is remembered, also by parts that are used again.
func TestResizeForgetsRows(t *testing.T) {
	c := newChunk(t, nil, 1000)
	c.add("a")
	if err := c.decide(); err != nil {
		t.Fatal(err)
	}
	db := c.v.store.(slow).Memory
	clear(db.First)
	clear(db.Rows)
	c.v.Resize(500)
	c.begin, c.events, c.decided = 100, packed.New(false), 0
	c.add("a")
	if err := c.decide(); err != nil {
		t.Fatal(err)
	}
	c.wants("A")
}

// reading counts the entries that are read.
type reading struct {
	*memstore.Memory
	entries int
}

func (r *reading) Visitors(ctx context.Context, visitors []models.Visitor, found func(int, models.First)) error {
	return r.Memory.Visitors(ctx, visitors, func(i int, entry models.First) {
		r.entries++
		found(i, entry)
	})
}

// However much a visitor has seen, a visit reads few entries, and is decided rightly: of a page that is new to the visitor, and of one that is not.
func TestAVisitReadsFewEntries(t *testing.T) {
	c := newChunk(t, nil, 1000)
	db := &reading{Memory: c.v.store.(slow).Memory}
	c.v.store = db
	visit := func(page int, want string) {
		t.Helper()
		c.begin++
		c.events, c.decided = packed.New(false), 0
		c.events.Add(models.Partition{Topic: "visits"}, c.begin,
			&models.Visit{V: 1, SiteID: "shop", GUID: "crawler", TS: models.Earliest, Features: []string{"x", fmt.Sprint("/", page)}})
		if err := c.decide(); err != nil {
			t.Fatal(err)
		}
		for _, e := range c.events.All() {
			if got := fmt.Sprint(e.First[:4]); got != want {
				t.Errorf("page %d is the first in the month under none, x, the page, both: %v, want %s", page, got, want)
			}
		}
	}
	visit(0, "[true true true true]")
	for page := 1; page < 2000; page++ {
		visit(page, "[false false true true]")
	}
	for _, page := range []int{2000, 1999, 1000, 40, 5} {
		want := "[false false false false]"
		if page == 2000 {
			want = "[false false true true]"
		}
		c.v.Drop() // a cold cache
		db.entries = 0
		if visit(page, want); db.entries > models.FullRow+4 {
			t.Errorf("a visit to page %d reads %d entries", page, db.entries)
		}
	}
}

// failing breaks off a read when it has told all entries.
type failing struct {
	*memstore.Memory
	fails  bool
	beyond int // rows beyond the first that were asked for
}

func (f *failing) Visitors(ctx context.Context, visitors []models.Visitor, found func(int, models.First)) error {
	for _, v := range visitors {
		if v.Under != "" {
			f.beyond++
		}
	}
	if err := f.Memory.Visitors(ctx, visitors, found); err != nil || !f.fails {
		return err
	}
	return errors.New("timeout")
}

// What a read told before it failed is forgotten: the row is read again as a whole, and does not look fuller than it is.
func TestAReadThatFailsIsForgotten(t *testing.T) {
	c := newChunk(t, nil, 1000)
	db := &failing{Memory: c.v.store.(slow).Memory}
	c.v.store = db
	visit := func(page int) {
		c.begin, c.events, c.decided = int64(page), packed.New(false), 0
		c.events.Add(models.Partition{Topic: "visits"}, c.begin,
			&models.Visit{V: 1, SiteID: "shop", GUID: "a", TS: models.Earliest, Features: []string{"x", fmt.Sprint("/", page)}})
	}
	for page := range models.FullRow - 1 {
		visit(page)
		if err := c.decide(); err != nil {
			t.Fatal(err)
		}
	}
	c.v.Drop()
	visit(5)
	db.fails = true
	if err := c.decide(); err == nil {
		t.Fatal("a read that failed is taken for whole")
	}
	db.fails = false
	visit(models.FullRow)
	if err := c.decide(); err != nil {
		t.Fatal(err)
	}
	if db.beyond > 0 {
		t.Errorf("%d rows beyond one that is not full are read", db.beyond)
	}
	for row := range db.Rows {
		if got := len(db.Rows[row]); got != models.FullRow {
			t.Errorf("the row of %+v has %d entries, want %d", row, got, models.FullRow)
		}
	}
}

// wide is a store in which each visitor has a full first row of long features. It notes how much memory is in use when it has told them.
type wide struct {
	*memstore.Memory
	used uint64
}

func (w *wide) Visitors(_ context.Context, visitors []models.Visitor, found func(int, models.First)) error {
	for i, v := range visitors {
		for n := int64(0); n < models.FullRow && v.Under == ""; n++ {
			features := []string{fmt.Sprint(n, strings.Repeat("x", 1000)), fmt.Sprint(n, strings.Repeat("y", 1000))}
			found(i, models.First{At: models.Position{Topic: "visits", Offset: n}, Day: v.Month, Features: features, Of: models.Ways{2, 2, 2}})
		}
	}
	w.used = max(w.used, inUse())
	return nil
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The texts of rows that are read are not held, however long they are: here they are 390 MB.
func TestLongFeaturesAreNotHeld(t *testing.T) {
	c := newChunk(t, nil, 0)
	db := &wide{Memory: c.v.store.(slow).Memory}
	c.v.store = db
	for i := range 6000 {
		c.events.Add(models.Partition{Topic: "visits"}, int64(1000+i),
			&models.Visit{V: 1, SiteID: "shop", GUID: fmt.Sprint(i), TS: models.Earliest, Features: []string{"new", "/"}})
	}
	before := inUse()
	if err := c.decide(); err != nil {
		t.Fatal(err)
	}
	if most := before + 32<<20; db.used > most {
		t.Errorf("%d MiB are in use while rows are read, want at most %d", db.used>>20, most>>20)
	}
}
