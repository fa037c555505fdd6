package rollup

import (
	"context"
	"sync"

	"footfall/models"
)

// visitors decides which events are a visitor's first. First sight is a fact of the log: the visitor's row, and the memory
// of it here, hold the position of the event that was first, and an event is the first if and only if that is itself. Safe
// for concurrent use.
type visitors struct {
	store   Store
	hasher  hasher
	metrics *metrics

	deciding sync.Mutex // one chunk at a time: the next one must find the rows of the last

	mu  sync.Mutex
	lru *recent
	era int // grows when all is forgotten
}

func newVisitors(store Store, h hasher, size int, m *metrics) *visitors {
	return &visitors{store: store, hasher: h, metrics: m, era: 1, lru: newRecent(size)}
}

// decide fills in first of every event of a chunk, unless that was done and nothing was forgotten since. When it returns
// nil, every visitor it saw has a row that the store has acknowledged; only then does the LRU know it too, or a failed insert
// would never be made good.
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
	c.decided = era
	return nil
}

func (v *visitors) ask(ctx context.Context, events []*counted, era int) error {
	known := map[models.Sighting]models.Position{}
	candidates := map[models.Sighting]models.Position{} // the earliest event of the chunk: all of a visitor are in one partition
	var unknown []models.Sighting
	for _, e := range events {
		for _, s := range e.event.Sightings() {
			if _, ok := known[s]; ok {
				continue
			}
			if _, ok := candidates[s]; ok {
				continue
			}
			if at, ok := v.recall(s); ok {
				known[s] = at
				continue
			}
			candidates[s] = e.position()
			unknown = append(unknown, s)
		}
	}
	v.metrics.lruHits.Add(float64(len(known)))
	v.metrics.lookups.Add(float64(len(unknown)))
	if err := v.settle(ctx, unknown, candidates, known, era); err != nil {
		return err
	}
	for _, e := range events {
		e.decide(known)
	}
	return nil
}

func (e *counted) position() models.Position {
	return models.Position{Topic: e.partition.Topic, Partition: e.partition.Number, Offset: e.offset}
}

// decide answers the event's sightings from where each visitor was first.
func (e *counted) decide(first map[models.Sighting]models.Position) {
	e.first = e.first[:0]
	for _, s := range e.event.Sightings() {
		at, known := first[s]
		e.first = append(e.first, known && at == e.position())
	}
}

// settle asks the store about the unknown, remembers those it does not know either, and adds all to known.
func (v *visitors) settle(ctx context.Context, unknown []models.Sighting, candidates, known map[models.Sighting]models.Position, era int) error {
	if len(unknown) == 0 {
		return nil
	}
	found, err := v.store.FirstSeen(ctx, unknown)
	if err != nil {
		return err
	}
	fresh := make(map[models.Sighting]models.Position, len(unknown)-len(found))
	for _, s := range unknown {
		if _, ok := found[s]; !ok {
			fresh[s] = candidates[s]
		}
	}
	if len(fresh) > 0 {
		if err := v.store.Remember(ctx, fresh); err != nil {
			return err
		}
	}
	for _, s := range unknown {
		at, ok := found[s]
		if !ok {
			at = fresh[s]
		}
		known[s] = at
		v.remember(s, at, era)
	}
	return nil
}

// remember adds to the LRU what the store had acknowledged in an era. What was forgotten meanwhile stays so.
func (v *visitors) remember(s models.Sighting, at models.Position, era int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.era == era {
		v.lru.add(fingerprintOf(v.hasher, s), at)
	}
}

func (v *visitors) recall(s models.Sighting) (models.Position, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.lru.get(fingerprintOf(v.hasher, s))
}

func (v *visitors) now() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.era
}

// drop forgets everything, after a fault that may have cost the store some rows. What was decided before is decided again.
func (v *visitors) drop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.era++
	v.lru.purge()
}
