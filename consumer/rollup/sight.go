package rollup

import (
	"context"
	"sync"

	"footfall/consumer/eventlog"
	"footfall/consumer/rollup/packed"
	"footfall/consumer/rollup/visitorcache"
	"footfall/consumer/store"
	"footfall/models"
)

// visitors decides which events are a visitor's first. First sight is a fact of the log: the visitor's row and its cache entry
// hold the position of the first event, and an event is the first if and only if it has that position. Safe for concurrent
// use.
type visitors struct {
	store   store.Store
	hasher  eventlog.Hasher
	metrics *metrics

	deciding  sync.Mutex // one chunk at a time: a chunk must find the rows of the one before
	questions questions  // of that chunk

	mu    sync.Mutex
	cache *visitorcache.Cache
	era   int // grows when the cache is emptied
}

func newVisitors(store store.Store, h eventlog.Hasher, size int, m *metrics) *visitors {
	return &visitors{store: store, hasher: h, metrics: m, questions: newQuestions(), era: 1, cache: visitorcache.New(size)}
}

// decide sets First of every event of a chunk, unless that is done and the cache was not emptied since. When it returns nil,
// the store has acknowledged a row for every visitor in the chunk. Only then are visitors added to the cache, or a failed
// insert would never be repeated.
func (v *visitors) decide(ctx context.Context, c *chunk) error {
	v.deciding.Lock()
	defer v.deciding.Unlock()
	era := v.now()
	if c.decided == era {
		return nil
	}
	if err := v.ask(ctx, c.events, era); err != nil {
		return err
	}
	c.decided, c.added = era, nil
	return nil
}

// questions are what a chunk asks about visitors. Many events ask about the same sighting, so each one has a place in the
// lists, found by its fingerprint. They are kept from chunk to chunk only to reuse their memory.
type questions struct {
	places  map[eventlog.Fingerprint]int32
	first   []models.Position      // by place: the first event; before the lookup the chunk's earliest (all are in one partition)
	asked   []int32                // the places of all events' sightings, in order
	ends    []int32                // by event: where its part of asked ends
	unknown []models.Sighting      // that the cache does not have
	ids     []eventlog.Fingerprint // of unknown
	missing []int32                // the places of unknown
	fresh   []models.Sighting      // that the store does not have either
	at      []models.Position      // the first events of fresh
}

func newQuestions() questions { return questions{places: map[eventlog.Fingerprint]int32{}} }

// forget empties the lists after a chunk. It frees lists that are much larger than the chunk needed: chunks grow under a backlog.
func (q *questions) forget() {
	if 4*len(q.asked) < cap(q.asked) {
		*q = newQuestions()
		return
	}
	clear(q.places)
	clear(q.unknown) // or their strings would stay in memory
	clear(q.fresh)
	q.first, q.asked, q.ends = q.first[:0], q.asked[:0], q.ends[:0]
	q.unknown, q.ids, q.missing = q.unknown[:0], q.ids[:0], q.missing[:0]
	q.fresh, q.at = q.fresh[:0], q.at[:0]
}

// ask sets First of the events.
func (v *visitors) ask(ctx context.Context, events *packed.Events, era int) error {
	q := &v.questions
	defer q.forget()
	v.gather(q, events)
	v.metrics.lruHits.Add(float64(len(q.first) - len(q.unknown)))
	v.metrics.lookups.Add(float64(len(q.unknown)))
	if err := v.lookUp(ctx, q, era); err != nil {
		return err
	}
	begin := int32(0)
	events.Decide(func(i int, e *eventlog.Counted, first []bool) []bool {
		for _, place := range q.asked[begin:q.ends[i]] {
			first = append(first, q.first[place] == e.Position())
		}
		begin = q.ends[i]
		return first
	})
	return nil
}

// gather lists the sightings that the events ask about, and those that the cache does not have.
func (v *visitors) gather(q *questions, events *packed.Events) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, e := range events.All() {
		for _, s := range e.Event.Sightings() {
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
			q.asked = append(q.asked, place)
		}
		q.ends = append(q.ends, int32(len(q.asked)))
	}
}

// lookUp asks the store about the unknown sightings, stores those that it does not have either, and adds all of them to the cache.
func (v *visitors) lookUp(ctx context.Context, q *questions, era int) error {
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
	if len(q.fresh) > 0 {
		if err := v.store.Remember(ctx, q.fresh, q.at); err != nil {
			return err
		}
	}
	v.remember(q, era)
	return nil
}

// remember adds to the cache what the store has acknowledged, unless the cache was emptied since that era.
func (v *visitors) remember(q *questions, era int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.era != era {
		return
	}
	for i, id := range q.ids {
		v.cache.Add(id, q.first[q.missing[i]])
	}
}

func (v *visitors) now() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.era
}

// drop empties the cache, after a fault that may have cost the store some rows. What was decided before is decided again.
func (v *visitors) drop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.era++
	v.cache.Purge()
}
