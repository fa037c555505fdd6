package memstore

import (
	"context"
	"slices"

	"footfall/consumer/store"
	"footfall/models"
)

// FirstSeen implements store.Store.
func (m *Memory) FirstSeen(ctx context.Context, sightings []models.Sighting) ([]models.Position, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if err := store.OfLinks(sightings); err != nil {
		return nil, err
	}
	m.Lookups += len(sightings)
	found := make([]models.Position, len(sightings))
	for i, s := range sightings {
		found[i] = m.First[s]
	}
	return found, ctx.Err()
}

// Remember implements store.Store.
func (m *Memory) Remember(ctx context.Context, sightings []models.Sighting, first []models.Position) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if m.OnRemember != nil {
		if err := m.OnRemember(); err != nil {
			return err
		}
	}
	if err := store.OfLinks(sightings); err != nil {
		return err
	}
	for i, s := range sightings {
		m.First[s] = first[i]
	}
	return ctx.Err()
}

// Visitors implements store.Store.
func (m *Memory) Visitors(ctx context.Context, visitors []models.Visitor, found func(int, models.First)) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.Lookups += len(visitors)
	for i, v := range visitors {
		for _, entry := range m.Rows[v] {
			found(i, entry)
		}
	}
	return ctx.Err()
}

// RememberFirsts implements store.Store.
func (m *Memory) RememberFirsts(ctx context.Context, visitors []models.Visitor, firsts [][]models.First) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if m.OnRemember != nil {
		if err := m.OnRemember(); err != nil {
			return err
		}
	}
	for i, v := range visitors {
		for _, f := range firsts[i] {
			m.Rows[v] = append(slices.DeleteFunc(m.Rows[v], func(o models.First) bool { return o.At == f.At }), f)
		}
	}
	return ctx.Err()
}
