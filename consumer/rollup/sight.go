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

// ask finds out where each visitor of the events was first. A chunk asks about the same visitors again and again, so each has
// a place in a list, found by its fingerprint.
func (v *visitors) ask(ctx context.Context, events []*counted, era int) error {
	var (
		places  = map[fingerprint]int32{}
		first   []models.Position // by place; until it is settled, the earliest event of the chunk: all are in one partition
		asked   []int32           // places, of all sightings of all events in order
		unknown []models.Sighting
		missing []int32 // the places of the unknown
	)
	for _, e := range events {
		sightings := e.event.Sightings()
		e.first = make([]bool, len(sightings))
		for _, s := range sightings {
			id := fingerprintOf(v.hasher, s)
			place, seen := places[id]
			if !seen {
				place = int32(len(first))
				places[id] = place
				at, known := v.recall(id)
				if !known {
					at = e.position()
					unknown, missing = append(unknown, s), append(missing, place)
				}
				first = append(first, at)
			}
			asked = append(asked, place)
		}
	}
	v.metrics.lruHits.Add(float64(len(first) - len(unknown)))
	v.metrics.lookups.Add(float64(len(unknown)))
	if err := v.settle(ctx, unknown, missing, first, era); err != nil {
		return err
	}
	for _, e := range events {
		for i := range e.first {
			e.first[i] = first[asked[i]] == e.position()
		}
		asked = asked[len(e.first):]
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

// settle asks the store about the unknown, tells it of those it does not know either, and notes in first where all of them
// were.
func (v *visitors) settle(ctx context.Context, unknown []models.Sighting, missing []int32, first []models.Position, era int) error {
	if len(unknown) == 0 {
		return nil
	}
	found, err := v.store.FirstSeen(ctx, unknown)
	if err != nil {
		return err
	}
	fresh := make(map[models.Sighting]models.Position, len(unknown)-len(found))
	for i, s := range unknown {
		if at, ok := found[s]; ok {
			first[missing[i]] = at
		} else {
			fresh[s] = first[missing[i]]
		}
	}
	if len(fresh) > 0 {
		if err := v.store.Remember(ctx, fresh); err != nil {
			return err
		}
	}
	for i, s := range unknown {
		v.remember(fingerprintOf(v.hasher, s), first[missing[i]], era)
	}
	return nil
}

// remember adds to the LRU what the store had acknowledged in an era. What was forgotten meanwhile stays so.
func (v *visitors) remember(id fingerprint, at models.Position, era int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.era == era {
		v.lru.add(id, at)
	}
}

func (v *visitors) recall(id fingerprint) (models.Position, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.lru.get(id)
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
