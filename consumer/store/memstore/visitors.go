package memstore

import (
	"context"
	"slices"

	"footfall/models"
)

// FirstSeen implements store.Store.
func (m *Memory) FirstSeen(ctx context.Context, sightings []models.Sighting) ([]models.Position, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.Lookups += len(sightings)
	found := make([]models.Position, len(sightings))
	for i, s := range sightings {
		found[i] = m.firstSeen(s)
	}
	return found, ctx.Err()
}

// firstSeen looks in the visitor's rows, if there are rows.
func (m *Memory) firstSeen(s models.Sighting) models.Position {
	if s.Keyspace != models.Cardinality || m.BySighting {
		return m.First[s]
	}
	for _, v := range s.Rows() {
		for _, f := range m.Rows[v] {
			for of := range f.Sightings(v) {
				if of == s {
					return f.At
				}
			}
		}
	}
	return models.Position{}
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
	for i, s := range sightings {
		m.First[s] = first[i]
	}
	return ctx.Err()
}

// Visitors implements store.Store.
func (m *Memory) Visitors(ctx context.Context, visitors []models.Visitor, found func(int, models.First)) (hasRows bool, err error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if m.BySighting {
		return false, ctx.Err()
	}
	m.Lookups += len(visitors)
	for i, v := range visitors {
		for _, entry := range m.Rows[v] {
			found(i, entry)
		}
	}
	return true, ctx.Err()
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
