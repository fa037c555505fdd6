package rollup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

// memory is a store whose faults a test chooses. It keeps what Cassandra keeps: counters, a ledger of counters, visitors,
// owners. The real stores have their own suite; this one is for what they cannot be made to do at will.
type memory struct {
	mu       sync.Mutex
	cells    map[models.Key]map[models.Cell]int64
	ledger   map[models.Key]map[store.LedgerID]store.LedgerRow
	first    map[models.Sighting]models.Position
	owners   map[models.Partition]ownerRow
	tails    map[models.Partition]store.Tail
	doubts   map[models.Partition][]store.Doubt
	settings map[string]string
	notices  store.Notices
	timeout  time.Duration

	// Each is asked before the call takes effect; nil is no fault.
	onApply    func(w store.KeyWrite) fault
	onRemember func() error
	onTake     func()

	nextEpoch func(last int64) int64

	lookups, ledgerReads, writes int
}

type ownerRow struct {
	store.Tenure
	clean bool
}

// fault is what happens to one write.
type fault struct {
	err  error
	lost bool // the write has no effect, whatever err says
}

func newMemory() *memory {
	return &memory{
		cells:    map[models.Key]map[models.Cell]int64{},
		ledger:   map[models.Key]map[store.LedgerID]store.LedgerRow{},
		first:    map[models.Sighting]models.Position{},
		owners:   map[models.Partition]ownerRow{},
		tails:    map[models.Partition]store.Tail{},
		doubts:   map[models.Partition][]store.Doubt{},
		settings: map[string]string{},

		nextEpoch: func(last int64) int64 { return last + 1 }, // nobody shares it
	}
}

func (m *memory) Take(ctx context.Context, p models.Partition, owner string) (store.Tenure, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.onTake != nil {
		m.onTake()
	}
	last, known := m.owners[p]
	t := store.Tenure{Partition: p, Owner: owner, Before: last.Epoch, Fresh: !known || last.clean, Committed: last.Committed}
	if t.Epoch = last.Epoch; !last.clean {
		t.Epoch = m.nextEpoch(last.Epoch)
	}
	m.owners[p] = ownerRow{Tenure: t}
	return t, ctx.Err()
}

func (m *memory) Release(ctx context.Context, t store.Tenure, committed int64) (bool, error) {
	return m.update(ctx, t, committed, true)
}

func (m *memory) Progress(ctx context.Context, t store.Tenure, committed int64) (bool, error) {
	return m.update(ctx, t, committed, false)
}

func (m *memory) update(ctx context.Context, t store.Tenure, committed int64, clean bool) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.owners[t.Partition]
	if last.Owner != t.Owner || last.Epoch != t.Epoch {
		return false, ctx.Err()
	}
	last.clean, last.Committed = clean, committed
	m.owners[t.Partition] = last
	return true, ctx.Err()
}

func (m *memory) Owners(ctx context.Context) (owners []store.Owner, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p, row := range m.owners {
		owners = append(owners, store.Owner{Partition: p, Name: row.Owner, Clean: row.clean})
	}
	return owners, ctx.Err()
}

func (m *memory) NoteTail(ctx context.Context, p models.Partition, t store.Tail) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tails[p] = t
	return ctx.Err()
}

func (m *memory) Tail(ctx context.Context, p models.Partition) (store.Tail, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tails[p], ctx.Err()
}

func (m *memory) NoteDoubt(ctx context.Context, d store.Doubt) error {
	if err := m.SettleDoubt(ctx, d); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubts[d.Partition] = append(m.doubts[d.Partition], d)
	return ctx.Err()
}

func (m *memory) Doubts(ctx context.Context, p models.Partition) ([]store.Doubt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.doubts[p]), ctx.Err()
}

func (m *memory) SettleDoubt(ctx context.Context, d store.Doubt) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubts[d.Partition] = slices.DeleteFunc(m.doubts[d.Partition], func(o store.Doubt) bool { return o.ID == d.ID })
	return ctx.Err()
}

func (m *memory) Setting(ctx context.Context, name, value string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.settings[name]; !known && value != "" {
		m.settings[name] = value
	}
	return m.settings[name], ctx.Err()
}

func (m *memory) Notices(ctx context.Context) (store.Notices, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.notices
	n.Retirements = slices.Clone(n.Retirements)
	return n, ctx.Err()
}

func (m *memory) Withdraw(ctx context.Context, before models.Millis) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.notices.Retirements)
	m.notices.Retirements = slices.DeleteFunc(m.notices.Retirements, func(r store.Retirement) bool { return r.Before == before && !r.Decided() })
	return len(m.notices.Retirements) < n, ctx.Err()
}

func (m *memory) Announce(ctx context.Context, r store.Retirement) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.retirement(r.Before) == nil {
		m.notices.Retirements = append(m.notices.Retirements, store.Retirement{Before: r.Before, Topic: r.Topic, ID: r.ID})
	}
	return ctx.Err()
}

func (m *memory) Decide(ctx context.Context, as store.Retirement, from map[int]int64) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.retirement(as.Before)
	if r == nil || r.Decided() || r.Topic != as.Topic || r.ID != as.ID {
		return false, ctx.Err()
	}
	r.From, r.ID = from, 0
	return true, ctx.Err()
}

func (m *memory) Finish(ctx context.Context, before models.Millis) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retirement(before).Done = true
	return ctx.Err()
}

// retirement finds one; the caller has the lock.
func (m *memory) retirement(before models.Millis) *store.Retirement {
	for i, r := range m.notices.Retirements {
		if r.Before == before {
			return &m.notices.Retirements[i]
		}
	}
	return nil
}

func (m *memory) Committed(ctx context.Context, p models.Partition) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owners[p].Committed, ctx.Err()
}

func (m *memory) CountMismatches(ctx context.Context, before models.Millis, _ func(string), each func(store.CountMismatch)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := map[models.Sighting]int64{}
	for s := range m.first {
		if s.Visitor = ""; s.Closed(before) {
			rows[s]++
		}
	}
	for s, n := range rows {
		if key, cell := s.Counted(); m.cells[key][cell] != n {
			each(store.CountMismatch{Key: key, Cell: cell, Rows: n, Counted: m.cells[key][cell]})
		}
	}
	return ctx.Err()
}

func (m *memory) DropVisitors(ctx context.Context, part store.Part, before models.Millis, read func(int)) (d store.Dropped, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for s := range m.first {
		if key, _ := s.Counted(); !holds(part, key) {
			continue
		}
		if d.Read++; s.Closed(before) {
			delete(m.first, s)
			d.Partitions++
		}
	}
	read(d.Read)
	return d, ctx.Err()
}

func (m *memory) FirstSeen(ctx context.Context, sightings []models.Sighting) ([]models.Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lookups += len(sightings)
	found := make([]models.Position, len(sightings))
	for i, s := range sightings {
		found[i] = m.first[s]
	}
	return found, ctx.Err()
}

func (m *memory) Remember(ctx context.Context, sightings []models.Sighting, first []models.Position) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.onRemember != nil {
		if err := m.onRemember(); err != nil {
			return err
		}
	}
	for i, s := range sightings {
		m.first[s] = first[i]
	}
	return ctx.Err()
}

func (m *memory) Ledger(ctx context.Context, keys []models.Key) (map[models.Key][]store.LedgerRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ledgerReads += len(keys)
	out := map[models.Key][]store.LedgerRow{}
	for _, key := range keys {
		if rows := m.ledger[key]; len(rows) > 0 {
			out[key] = sortedRows(rows)
		}
	}
	return out, ctx.Err()
}

func (m *memory) Confirm(ctx context.Context, cells map[models.Key][]models.Cell) (map[models.Key][]store.LedgerRow, bool, error) {
	rows, err := m.Ledger(ctx, slices.Collect(maps.Keys(cells)))
	return rows, true, err
}

func (m *memory) Apply(_ context.Context, writes []store.KeyWrite) []error {
	m.mu.Lock()
	defer m.mu.Unlock()
	errs := make([]error, len(writes))
	for i, w := range writes {
		var f fault
		if m.onApply != nil {
			f = m.onApply(w)
		}
		errs[i] = f.err
		if !f.lost {
			m.apply(w)
		}
	}
	return errs
}

func (m *memory) apply(w store.KeyWrite) {
	m.writes++
	if m.cells[w.Key] == nil {
		m.cells[w.Key], m.ledger[w.Key] = map[models.Cell]int64{}, map[store.LedgerID]store.LedgerRow{}
	}
	for cell, n := range w.Cells {
		m.cells[w.Key][cell] += n
	}
	for _, add := range w.Ledger {
		row := m.ledger[w.Key][add.LedgerID]
		row.LedgerID = add.LedgerID
		row.From += add.From
		row.To += add.To
		m.ledger[w.Key][add.LedgerID] = row
	}
}

func (m *memory) WriteTimeout() time.Duration { return m.timeout }

func unknown(reason string) error {
	return fmt.Errorf("%w: %w", store.ErrUnknownOutcome, errors.New(reason))
}

func (m *memory) Keys(_ context.Context, part store.Part, each func([]store.KeyLedger) error) error {
	m.mu.Lock()
	var together []store.KeyLedger
	for _, key := range slices.SortedFunc(maps.Keys(m.ledger), models.Key.Compare) {
		if holds(part, key) {
			together = append(together, store.KeyLedger{Key: key, Rows: sortedRows(m.ledger[key])})
		}
	}
	m.mu.Unlock()
	for some := range slices.Chunk(together, 3) {
		if err := each(some); err != nil {
			return err
		}
	}
	return nil
}

// holds tells whether a key lies in the part, in this store.
func holds(p store.Part, key models.Key) bool {
	h := fnv.New32a()
	fmt.Fprint(h, key)
	return key.Keyspace == p.Keyspace && int(h.Sum32()%uint32(p.Of)) == p.Number
}

func (m *memory) Sums(_ context.Context, links []models.Key) (map[models.Key]store.LinkSums, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[models.Key]store.LinkSums{}
	for _, link := range links {
		sums := store.LinkSums{Tables: map[string]int64{}, Ledger: sortedRows(m.ledger[link])}
		for cell, n := range m.cells[link] {
			sums.Tables[cell.Counter] += n
		}
		out[link] = sums
	}
	return out, nil
}

func (m *memory) Cells(_ context.Context, key models.Key) (map[models.Cell]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.cells[key]), nil
}

func (m *memory) LinkCells(ctx context.Context, links []models.Key) (map[models.Key]map[models.Cell]int64, error) {
	out := map[models.Key]map[models.Cell]int64{}
	for _, link := range links {
		out[link], _ = m.Cells(ctx, link)
	}
	return out, ctx.Err()
}

func (m *memory) LinkLedgers(ctx context.Context, links []models.Key) (map[models.Key][]store.LedgerRow, error) {
	return m.Ledger(ctx, links)
}

func (m *memory) Walked(ctx context.Context, walk string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settings["walk: "+walk], ctx.Err()
}

func (m *memory) NoteWalked(ctx context.Context, walk, progress string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.settings["walk: "+walk] = progress; progress == "" {
		delete(m.settings, "walk: "+walk)
	}
	return ctx.Err()
}

func sortedRows(rows map[store.LedgerID]store.LedgerRow) []store.LedgerRow {
	return slices.SortedFunc(maps.Values(rows), func(a, b store.LedgerRow) int {
		return cmp.Or(a.Partition.Compare(b.Partition), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Epoch, b.Epoch))
	})
}
