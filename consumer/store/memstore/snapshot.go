package memstore

import (
	"maps"
	"slices"

	"footfall/consumer/store"
)

// Snapshot makes a store that has what this one has now, except leases. It has no faults.
func (m *Memory) Snapshot() *Memory {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	s := New()
	for key, cells := range m.Counters {
		s.Counters[key] = maps.Clone(cells)
	}
	for key, rows := range m.LedgerRows {
		s.LedgerRows[key] = maps.Clone(rows)
	}
	for visitor, firsts := range m.Rows {
		s.Rows[visitor] = slices.Clone(firsts)
	}
	for p, doubts := range m.OpenDoubts {
		s.OpenDoubts[p] = slices.Clone(doubts)
	}
	s.First, s.OwnerRows, s.tails = maps.Clone(m.First), maps.Clone(m.OwnerRows), maps.Clone(m.tails)
	s.Settings, s.Names, s.Noted = maps.Clone(m.Settings), maps.Clone(m.Names), maps.Clone(m.Noted)
	s.Told = store.Notices{Retirements: slices.Clone(m.Told.Retirements), Forgotten: m.Told.Forgotten}
	s.Full, s.Timeout, s.NextEpoch, s.takes = m.Full, m.Timeout, m.NextEpoch, m.takes
	return s
}
