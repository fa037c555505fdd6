package memstore

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"footfall/consumer/store"
	"footfall/models"
)

// Keys implements store.WalkStore.
func (m *Memory) Keys(_ context.Context, part store.Part, each func([]store.KeyLedger) error) error {
	m.Mu.Lock()
	var together []store.KeyLedger
	for _, key := range slices.SortedFunc(maps.Keys(m.LedgerRows), models.Key.Compare) {
		if Holds(part, key) {
			together = append(together, store.KeyLedger{Key: key, Rows: SortedRows(m.LedgerRows[key])})
		}
	}
	m.Mu.Unlock()
	for some := range slices.Chunk(together, 3) {
		if err := each(some); err != nil {
			return err
		}
	}
	return nil
}

// Holds tells whether a key lies in the part, in this store.
func Holds(p store.Part, key models.Key) bool {
	h := fnv.New32a()
	fmt.Fprint(h, key)
	return key.Keyspace == p.Keyspace && int(h.Sum32()%uint32(p.Of)) == p.Number
}

// Sums implements store.AuditStore.
func (m *Memory) Sums(_ context.Context, links []models.Key) (map[models.Key]store.LinkSums, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	out := map[models.Key]store.LinkSums{}
	for _, link := range links {
		sums := store.LinkSums{Counters: map[string]int64{}, Ledger: SortedRows(m.LedgerRows[link])}
		for cell, n := range m.Counters[link] {
			sums.Counters[cell.Counter] += n
		}
		out[link] = sums
	}
	return out, nil
}

// Cells implements store.CompareStore.
func (m *Memory) Cells(_ context.Context, key models.Key) (map[models.Cell]int64, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	return maps.Clone(m.Counters[key]), nil
}

// LinkCells implements store.CompareStore.
func (m *Memory) LinkCells(ctx context.Context, links []models.Key) (map[models.Key]map[models.Cell]int64, error) {
	out := map[models.Key]map[models.Cell]int64{}
	for _, link := range links {
		out[link], _ = m.Cells(ctx, link)
	}
	return out, ctx.Err()
}

// LinkLedgers implements store.CompareStore.
func (m *Memory) LinkLedgers(ctx context.Context, links []models.Key) (map[models.Key][]store.LedgerRow, error) {
	return store.Ledgers(ctx, m, links)
}

// Walked implements store.WalkStore.
func (m *Memory) Walked(ctx context.Context, walk string) (string, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	return m.Settings["walk: "+walk], ctx.Err()
}

// NoteWalked implements store.WalkStore.
func (m *Memory) NoteWalked(ctx context.Context, walk, progress string) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if m.Settings["walk: "+walk] = progress; progress == "" {
		delete(m.Settings, "walk: "+walk)
	}
	return ctx.Err()
}

// SortedRows lists ledger rows in a fixed order.
func SortedRows(rows map[store.LedgerID]store.LedgerRow) []store.LedgerRow {
	return slices.SortedFunc(maps.Values(rows), func(a, b store.LedgerRow) int {
		return cmp.Or(a.Partition.Compare(b.Partition), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Epoch, b.Epoch))
	})
}

// Announce implements store.RetireStore.
func (m *Memory) Announce(ctx context.Context, r store.Retirement) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if m.retirement(r.Before) == nil {
		m.Told.Retirements = append(m.Told.Retirements, store.Retirement{Before: r.Before, Topic: r.Topic, ID: r.ID})
	}
	return ctx.Err()
}

// Decide implements store.RetireStore.
func (m *Memory) Decide(ctx context.Context, as store.Retirement, from map[int]int64) (bool, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	r := m.retirement(as.Before)
	if r == nil || r.Decided() || r.Topic != as.Topic || r.ID != as.ID {
		return false, ctx.Err()
	}
	r.From, r.ID = from, 0
	return true, ctx.Err()
}

// Finish implements store.RetireStore.
func (m *Memory) Finish(ctx context.Context, before models.Millis) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.retirement(before).Done = true
	return ctx.Err()
}

// retirement finds one; the caller has the lock.
func (m *Memory) retirement(before models.Millis) *store.Retirement {
	for i, r := range m.Told.Retirements {
		if r.Before == before {
			return &m.Told.Retirements[i]
		}
	}
	return nil
}

// CountMismatches implements store.RetireStore.
func (m *Memory) CountMismatches(ctx context.Context, before models.Millis, _ func(string), each func(store.CountMismatch)) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	rows, seen := map[models.Sighting]int64{}, map[models.Sighting]bool{} // each once, also if two entries have it
	for v, firsts := range m.Rows {
		if !v.Closed(before) {
			continue
		}
		for _, f := range firsts {
			for s := range f.Sightings(v) {
				seen[s] = true
			}
		}
	}
	for s := range seen {
		s.Visitor = ""
		rows[s]++
	}
	for s, n := range rows {
		if key, cell := s.Counted(); m.Counters[key][cell] != n {
			each(store.CountMismatch{Key: key, Cell: cell, Rows: n, Counted: m.Counters[key][cell]})
		}
	}
	return ctx.Err()
}

// DropVisitors implements store.RetireStore.
func (m *Memory) DropVisitors(ctx context.Context, part store.Part, before models.Millis, read func(int)) (d store.Dropped, err error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	for v := range m.Rows {
		if !Holds(part, models.Key{Keyspace: models.Cardinality, Name: v.Site, Month: v.Month}) {
			continue
		}
		if d.Read++; v.Closed(before) {
			delete(m.Rows, v)
			d.Partitions++
		}
	}
	read(d.Read)
	return d, ctx.Err()
}
