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
// A visitor of a site has a row of all that was seen of it in a month (visitorrows). A visitor of a link has a row that is one sighting, and so
// has what does not fit a site's visitor's row (visitorcache).
type Visitors struct {
	store         store.Store
	hasher        eventlog.Hasher
	hits, lookups prometheus.Counter
	together      int // see New

	deciding  sync.Mutex // one chunk at a time: a chunk must find the rows of the one before
	questions questions  // of a part of that chunk
	chunk     *visitorrows.Chunk

	mu    sync.Mutex
	cache *visitorcache.Cache
	rows  *visitorrows.Cache
	era   int // grows when the caches are emptied
}

// New decides by the rows of a store. It caches about size visitors of links, and as many of sites; full is how many entries a visitor's row
// has at the most. hits counts the visitors that were cached, lookups those that were not. A chunk is asked about in parts that cost together
// (packed.Events.Cost): enough to keep the store busy, and few enough for little memory.
func New(db store.Store, h eventlog.Hasher, size, full, together int, hits, lookups prometheus.Counter) *Visitors {
	v := &Visitors{
		store: db, hasher: h, hits: hits, lookups: lookups, together: together, questions: newQuestions(), era: 1,
		cache: visitorcache.New(size), rows: visitorrows.New(h, size),
	}
	v.chunk = v.rows.NewChunk(full)
	return v
}

// Decide sets First of the events of a chunk: of those that are not decided yet if decided is this era, else of all. The caches are emptied between
// two eras. It returns the era.
// When it succeeds, the store has acknowledged a row for every visitor in the chunk. Only then are visitors added to the caches, or a failed
// insert would never be repeated.
func (v *Visitors) Decide(ctx context.Context, events *packed.Events, decided int) (era int, err error) {
	v.deciding.Lock()
	defer v.deciding.Unlock()
	if era = v.now(); decided == era {
		events = events.After(events.Decided())
	}
	for part := range events.Parts(v.together) {
		if err := v.ask(ctx, part, era); err != nil {
			return 0, err
		}
	}
	return era, nil
}

// questions are what a chunk asks about sightings. Many events ask about the same one, so each one has a place in the
// lists, found by its fingerprint. They are kept from chunk to chunk only to reuse their memory.
type questions struct {
	places  map[eventlog.Fingerprint]int32
	first   []models.Position      // by place: the first event; before the lookup the chunk's earliest (all are in one partition)
	asked   []asked                // in the order of the events
	answers []bool                 // of all events
	ends    []int                  // by event: where its part of answers ends
	unknown []models.Sighting      // that the cache does not have
	ids     []eventlog.Fingerprint // of unknown
	missing []int32                // the places of unknown
	fresh   []models.Sighting      // that the store does not have either
	at      []models.Position      // the first events of fresh
}

// asked is an answer that waits for a sighting.
type asked struct {
	answer int
	place  int32
	at     models.Position // of the event
}

func newQuestions() questions { return questions{places: map[eventlog.Fingerprint]int32{}} }

// forget empties the lists after a chunk. It frees lists that are much larger than the chunk needed: chunks grow under a backlog.
func (q *questions) forget() {
	if 4*len(q.answers) < cap(q.answers) {
		*q = newQuestions()
		return
	}
	clear(q.places)
	clear(q.unknown) // or their strings would stay in memory
	clear(q.fresh)
	q.first, q.asked, q.answers, q.ends = q.first[:0], q.asked[:0], q.answers[:0], q.ends[:0]
	q.unknown, q.ids, q.missing = q.unknown[:0], q.ids[:0], q.missing[:0]
	q.fresh, q.at = q.fresh[:0], q.at[:0]
}

// ask sets First of the events.
func (v *Visitors) ask(ctx context.Context, events *packed.Events, era int) error {
	q := &v.questions
	defer q.forget()
	defer v.chunk.Forget()
	if err := v.learnRows(ctx, events); err != nil {
		return err
	}
	v.gather(q, events)
	v.hits.Add(float64(len(q.first) - len(q.unknown)))
	v.lookups.Add(float64(len(q.unknown)))
	if err := v.lookUp(ctx, q); err != nil {
		return err
	}
	if visitors, firsts := v.chunk.Fresh(); len(visitors) > 0 {
		if err := v.store.RememberFirsts(ctx, visitors, firsts); err != nil {
			return err
		}
	}
	v.remember(q, era)
	for _, a := range q.asked {
		q.answers[a.answer] = q.first[a.place] == a.at
	}
	begin := 0
	events.Decide(func(i int, _ *eventlog.Counted, first []bool) []bool {
		first, begin = append(first, q.answers[begin:q.ends[i]]...), q.ends[i]
		return first
	})
	return nil
}

// learnRows finds the rows of the visitors of sites: those that the cache does not have in the store.
func (v *Visitors) learnRows(ctx context.Context, events *packed.Events) error {
	v.mu.Lock()
	for _, e := range events.All() {
		if visit, ok := e.Event.(*models.Visit); ok {
			v.chunk.Ask(visit, e.Partition)
		}
	}
	v.mu.Unlock()
	unknown := v.chunk.Unknown()
	v.hits.Add(float64(v.chunk.Rows() - len(unknown)))
	if len(unknown) == 0 {
		return nil
	}
	rows, err := v.store.Visitors(ctx, unknown)
	if err != nil {
		return err
	}
	looked := 0
	for _, r := range rows {
		if r.Rows {
			looked++
		}
	}
	v.lookups.Add(float64(looked))
	v.chunk.Learn(rows)
	return nil
}

// gather answers what the rows of visitors tell, and lists the sightings that the events ask about otherwise, and those that the cache
// does not have.
func (v *Visitors) gather(q *questions, events *packed.Events) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, e := range events.All() {
		begin := len(q.answers)
		var asks []bool // by sighting; nil: all
		if visit, ok := e.Event.(*models.Visit); ok {
			first, beyond := v.chunk.Decide(visit, e.Position())
			q.answers = visit.AppendFirst(q.answers, first)
			if beyond == (models.Ways{}) {
				q.ends = append(q.ends, len(q.answers))
				continue
			}
			asks = visit.AppendFirst(nil, beyond)
		}
		for i, s := range e.Event.Sightings() {
			if begin+i == len(q.answers) {
				q.answers = append(q.answers, false)
			}
			if asks == nil || asks[i] {
				q.asked = append(q.asked, asked{begin + i, v.place(q, s, e), e.Position()})
			}
		}
		q.ends = append(q.ends, len(q.answers))
	}
}

// place is a sighting's place in the lists. It asks the cache about one that has none yet.
func (v *Visitors) place(q *questions, s models.Sighting, e *eventlog.Counted) int32 {
	id := eventlog.FingerprintOf(v.hasher, s)
	place, seen := q.places[id]
	if !seen {
		place = int32(len(q.first))
		q.places[id] = place
		at, known := v.cache.Get(id)
		if !known {
			at = e.Position()
			q.unknown, q.ids, q.missing = append(q.unknown, s), append(q.ids, id), append(q.missing, place)
		}
		q.first = append(q.first, at)
	}
	return place
}

// lookUp asks the store about the unknown sightings, and stores those that it does not have either.
func (v *Visitors) lookUp(ctx context.Context, q *questions) error {
	if len(q.unknown) == 0 {
		return nil
	}
	found, err := v.store.FirstSeen(ctx, q.unknown)
	if err != nil {
		return err
	}
	for i, s := range q.unknown {
		if at := &q.first[q.missing[i]]; found[i] != (models.Position{}) {
			*at = found[i]
		} else {
			q.fresh, q.at = append(q.fresh, s), append(q.at, *at)
		}
	}
	if len(q.fresh) == 0 {
		return nil
	}
	return v.store.Remember(ctx, q.fresh, q.at)
}

// remember adds to the caches what the store has acknowledged, unless they were emptied since that era.
func (v *Visitors) remember(q *questions, era int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.era != era {
		return
	}
	for i, id := range q.ids {
		v.cache.Add(id, q.first[q.missing[i]])
	}
	v.chunk.Keep()
}

func (v *Visitors) now() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.era
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
