// Package sight decides which events are a visitor's first.
package sight

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/eventlog"
	"footfall/consumer/rollup/packed"
	"footfall/consumer/rollup/sight/visitorcache"
	"footfall/consumer/rollup/sight/visitorrows"
	"footfall/consumer/store"
	"footfall/models"
)

// Visitors decides which events are a visitor's first. First sight is a fact of the log: the visitor's row and its cache entry
// hold the position of the first event, and an event is the first if and only if it has that position. Safe for concurrent
// use.
//
// A visitor of a site has rows of all that was seen of it in a month (visitorrows). A visitor of a link has a row that is one sighting
// (visitorcache).
type Visitors struct {
	store         store.Store
	hasher        eventlog.Hasher
	hits, lookups prometheus.Counter
	together      int // see New
	full          int // see New

	deciding sync.Mutex // one chunk at a time: a chunk must find the rows of the one before
	spare    []*part    // to be used again
	answers  answers

	mu    sync.Mutex
	cache *visitorcache.Cache
	rows  *visitorrows.Cache
	under *underway // the last part, until wait has taken what came of its rows
	era   int       // grows when the caches are emptied, and when rows could not be stored
}

// New decides by the rows of a store. It caches about size visitors of links, and as many of sites; full is models.FullRow, but in tests. hits counts the visitors that were cached, lookups those that were not. A chunk is asked about in parts that cost together
// (packed.Events.Cost): enough to keep the store busy, and few enough for little memory.
func New(db store.Store, h eventlog.Hasher, size, full, together int, hits, lookups prometheus.Counter) *Visitors {
	return &Visitors{
		store: db, hasher: h, hits: hits, lookups: lookups, together: together, full: full, era: 1,
		cache: visitorcache.New(size), rows: visitorrows.New(h, size),
	}
}

// Decide sets First of the events of a chunk: of those that are not decided yet if decided is this era, else of all. It returns the era.
// When it succeeds, the store has acknowledged a row for every visitor in the chunk. Visitors are added to the caches when their row is acknowledged, or a failed
// insert would never be repeated. After an error the events may have been decided in part; decided stays what it was. The error may be that of rows
// which were on their way for another chunk.
func (v *Visitors) Decide(ctx context.Context, events *packed.Events, decided int) (era int, err error) {
	if v.isDecided(events, decided) { // without waiting for a chunk that is decided ahead
		return decided, nil
	}
	v.deciding.Lock()
	defer v.deciding.Unlock()
	if era, err = v.ahead(ctx, events, decided); err != nil {
		return 0, err
	}
	return era, v.wait()
}

// DecideAhead is Decide, except that rows may still be on their way to the store when it returns. Nothing may be counted before Decide has
// succeeded too.
func (v *Visitors) DecideAhead(ctx context.Context, events *packed.Events, decided int) (era int, err error) {
	v.deciding.Lock()
	defer v.deciding.Unlock()
	return v.ahead(ctx, events, decided)
}

func (v *Visitors) ahead(ctx context.Context, events *packed.Events, decided int) (era int, err error) {
	if era = v.now(); decided != era {
		// What is under way belongs to another chunk or era: its rows are not taken for seen, but found in the cache or in the store. The caller
		// learns if they could not be stored: after a lost connection it empties all caches.
		if err := v.wait(); err != nil {
			return 0, err
		}
		era = v.now()
	}
	rest := events
	if decided == era { // not v.now(): if the era has ended meanwhile, all this is decided again
		rest = events.After(events.Decided())
	}
	for some := range rest.Parts(v.together) {
		if err := v.ask(ctx, some, events, era); err != nil {
			return 0, err
		}
	}
	return era, nil
}

// isDecided tells whether all of a chunk is decided in this era, and its rows are stored.
func (v *Visitors) isDecided(events *packed.Events, decided int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return decided == v.era && events.Decided() == events.Len() && (v.under == nil || v.under.of != events)
}

// ask sets First of some events of a chunk, and begins to store the rows of their visitors.
func (v *Visitors) ask(ctx context.Context, some, of *packed.Events, era int) error {
	p := v.newPart()
	defer v.answers.forget()
	err := v.learnRows(ctx, p, some)
	if err == nil {
		v.gather(p, some)
		v.hits.Add(float64(len(p.first) - len(p.unknown)))
		v.lookups.Add(float64(len(p.unknown)))
		err = v.lookUp(ctx, p)
	}
	if err == nil {
		err = v.wait() // this part took the one before for seen, so that must be stored
	}
	if err != nil {
		v.reuse(p)
		return err
	}
	v.answers.tell(some, p.first)
	v.begin(ctx, p, of, era)
	return nil
}

// learnRows finds the rows of the visitors of sites: those that the cache does not have in the store. Which rows are used beyond full ones is known
// when these are.
func (v *Visitors) learnRows(ctx context.Context, p *part, events *packed.Events) error {
	err := v.askRows(ctx, p, events, p.rows.Ask)
	if err == nil && p.rows.IsFull() {
		err = v.askRows(ctx, p, events, p.rows.AskBeyond)
	}
	return err
}

func (v *Visitors) askRows(ctx context.Context, p *part, events *packed.Events, ask func(*models.Visit, models.Partition, *visitorrows.Chunk)) error {
	v.mu.Lock()
	var before *visitorrows.Chunk
	if v.under != nil {
		before = v.under.rows
	}
	known := p.rows.Rows()
	for _, e := range events.All() {
		if visit, ok := e.Event.(*models.Visit); ok {
			ask(visit, e.Partition, before)
		}
	}
	v.mu.Unlock()
	unknown := p.rows.Unknown()
	v.hits.Add(float64(p.rows.Rows() - known - len(unknown)))
	if len(unknown) == 0 {
		return nil
	}
	err := v.store.Visitors(ctx, unknown, func(i int, entry models.First) { // packed at once: the texts of all may be hundreds of MB
		v.mu.Lock()
		defer v.mu.Unlock()
		p.rows.Learn(i, entry)
	})
	if err != nil {
		return err
	}
	v.lookups.Add(float64(len(unknown)))
	p.rows.Learnt()
	return nil
}

// gather answers what the rows of visitors tell, and lists the sightings of links that the events ask about, and those that the cache does not
// have.
func (v *Visitors) gather(p *part, events *packed.Events) {
	v.mu.Lock()
	defer v.mu.Unlock()
	to := &v.answers
	for _, e := range events.All() {
		if visit, ok := e.Event.(*models.Visit); ok {
			to.list = visit.AppendFirst(to.list, p.rows.Decide(visit, e.Position()))
		} else {
			for _, s := range e.Event.Sightings() {
				to.asked = append(to.asked, asked{int32(len(to.list)), v.place(p, s, e)})
				to.list = append(to.list, false)
			}
		}
		to.ends = append(to.ends, int32(len(to.list)))
	}
}

// place is a sighting's place in the lists. One that has none yet is looked for in the cache, and in the part before this one.
func (v *Visitors) place(p *part, s models.Sighting, e *eventlog.Counted) int32 {
	id := eventlog.FingerprintOf(v.hasher, s)
	place, seen := p.places[id]
	if !seen {
		place = int32(len(p.first))
		p.places[id] = place
		at, known := v.cache.Get(id)
		if !known && v.under != nil {
			at, known = v.under.find(id)
		}
		if !known {
			at = e.Position()
			p.unknown, p.ids, p.missing = append(p.unknown, s), append(p.ids, id), append(p.missing, place)
		}
		p.first = append(p.first, at)
	}
	return place
}

// lookUp asks the store about the unknown sightings, and lists those that it does not have either.
func (v *Visitors) lookUp(ctx context.Context, p *part) error {
	if len(p.unknown) == 0 {
		return nil
	}
	found, err := v.store.FirstSeen(ctx, p.unknown)
	if err != nil {
		return err
	}
	p.fresh = p.unknown[:0]
	for i, s := range p.unknown {
		if at := &p.first[p.missing[i]]; found[i] != (models.Position{}) {
			*at = found[i]
		} else {
			p.fresh, p.at = append(p.fresh, s), append(p.at, *at)
		}
	}
	return nil
}

func (v *Visitors) now() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.era
}

// Resize makes the caches anew for about size visitors of links, and as many of sites. Call it while nothing is decided.
func (v *Visitors) Resize(size int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.era++
	v.cache = visitorcache.New(size)
	v.rows.Resize(size) // in place: parts that are used again know it
}

// Bytes is about the memory that the caches take.
func (v *Visitors) Bytes() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.cache.Bytes() + v.rows.Bytes()
}

// DropRows forgets the rows of visitors of sites. Call it whenever partitions are taken anew: a row that is remembered is remembered as a whole, and
// another owner may have added to it. A sighting that is remembered stays true.
func (v *Visitors) DropRows() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.era++
	v.rows.Purge()
}

// Drop empties the caches, after a fault that may have cost the store some rows. What was decided before is decided again.
func (v *Visitors) Drop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.era++
	v.cache.Purge()
	v.rows.Purge()
}
