package memstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

// Memory is a store whose faults a test chooses. It has what Cassandra has: counters, a ledger of counters, visitors,
// owners. Fields may be set before the store is used, and read or changed under Mu.
type Memory struct {
	Mu         sync.Mutex
	Counters   map[models.Key]map[models.Cell]int64
	LedgerRows map[models.Key]map[store.LedgerID]store.LedgerRow
	First      map[models.Sighting]models.Position // of links
	Rows       map[models.Visitor][]models.First
	Full       int // entries of a visitor's first row; models.FullRow if a test chooses no other
	OwnerRows  map[models.Partition]OwnerRow
	tails      map[models.Partition]store.Tail
	OpenDoubts map[models.Partition][]store.Doubt
	Settings   map[string]string
	Told       store.Notices
	Names      map[models.Name]bool
	Noted      map[models.Partition]store.Progress
	Timeout    time.Duration

	// Each is called before the call takes effect; nil: no fault.
	OnApply    func(w store.KeyWrite) Fault
	OnRemember func() error
	OnNames    func(names []models.Name) error
	OnTake     func()

	NextEpoch func(last int64) int64

	Lookups, LedgerReads, Writes int

	takes  int64
	leases map[store.Lease]time.Time // until when
}

// OwnerRow is what is kept of a partition's owner.
type OwnerRow struct {
	store.Tenure
	Clean bool
	taken time.Time
}

// Fault is what happens to one write.
type Fault struct {
	Err  error
	Lost bool // the write has no effect, whatever Err is
}

// New makes an empty store.
func New() *Memory {
	return &Memory{
		Counters:   map[models.Key]map[models.Cell]int64{},
		LedgerRows: map[models.Key]map[store.LedgerID]store.LedgerRow{},
		First:      map[models.Sighting]models.Position{},
		Rows:       map[models.Visitor][]models.First{},
		Full:       models.FullRow,
		OwnerRows:  map[models.Partition]OwnerRow{},
		tails:      map[models.Partition]store.Tail{},
		OpenDoubts: map[models.Partition][]store.Doubt{},
		Settings:   map[string]string{},
		Names:      map[models.Name]bool{},
		Noted:      map[models.Partition]store.Progress{},
		leases:     map[store.Lease]time.Time{},

		NextEpoch: func(last int64) int64 { return store.NextEpoch(last, time.Now()) },
	}
}

// Take implements store.Store.
func (m *Memory) Take(ctx context.Context, p models.Partition, owner string) (store.Tenure, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if m.OnTake != nil {
		m.OnTake()
	}
	last, known := m.OwnerRows[p]
	t := store.Tenure{Partition: p, Owner: owner, Before: last.Epoch, Fresh: !known || last.Clean, Committed: last.Committed}
	if t.Epoch = last.Epoch; !last.Clean {
		t.Epoch = m.NextEpoch(last.Epoch)
	}
	m.takes++
	m.OwnerRows[p] = OwnerRow{Tenure: t, taken: time.Now().Add(time.Duration(m.takes))}
	return t, ctx.Err()
}

// Release implements store.Store.
func (m *Memory) Release(ctx context.Context, t store.Tenure, committed int64) (bool, error) {
	return m.update(ctx, t, committed, true)
}

// Progress implements store.Store.
func (m *Memory) Progress(ctx context.Context, t store.Tenure, committed int64) (bool, error) {
	return m.update(ctx, t, committed, false)
}

func (m *Memory) update(ctx context.Context, t store.Tenure, committed int64, clean bool) (bool, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	last := m.OwnerRows[t.Partition]
	if last.Owner != t.Owner || last.Epoch != t.Epoch {
		return false, ctx.Err()
	}
	last.Clean, last.Committed = clean, committed
	m.OwnerRows[t.Partition] = last
	return true, ctx.Err()
}

// Owners implements store.Store.
func (m *Memory) Owners(ctx context.Context) (owners []store.Owner, err error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	for p, row := range m.OwnerRows {
		owners = append(owners, store.Owner{
			Partition: p, Name: row.Owner, Clean: row.Clean, Epoch: row.Epoch, Committed: row.Committed, TakenAt: row.taken,
		})
	}
	return owners, ctx.Err()
}

// NoteTail implements store.Store.
func (m *Memory) NoteTail(ctx context.Context, p models.Partition, t store.Tail) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.tails[p] = t
	return ctx.Err()
}

// Tail implements store.Store.
func (m *Memory) Tail(ctx context.Context, p models.Partition) (store.Tail, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	return m.tails[p], ctx.Err()
}

// NoteDoubt implements store.Store.
func (m *Memory) NoteDoubt(ctx context.Context, d store.Doubt) error {
	if err := m.SettleDoubt(ctx, d); err != nil {
		return err
	}
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.OpenDoubts[d.Partition] = append(m.OpenDoubts[d.Partition], d)
	return ctx.Err()
}

// Doubts implements store.Store.
func (m *Memory) Doubts(ctx context.Context, p models.Partition) ([]store.Doubt, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	return slices.Clone(m.OpenDoubts[p]), ctx.Err()
}

// SettleDoubt implements store.Store.
func (m *Memory) SettleDoubt(ctx context.Context, d store.Doubt) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.OpenDoubts[d.Partition] = slices.DeleteFunc(m.OpenDoubts[d.Partition], func(o store.Doubt) bool { return o.ID == d.ID })
	return ctx.Err()
}

// Setting implements store.Store.
func (m *Memory) Setting(ctx context.Context, name, value string) (string, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if _, known := m.Settings[name]; !known && value != "" {
		m.Settings[name] = value
	}
	return m.Settings[name], ctx.Err()
}

// Notices implements store.Store.
func (m *Memory) Notices(ctx context.Context) (store.Notices, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	n := m.Told
	n.Retirements = slices.Clone(n.Retirements)
	return n, ctx.Err()
}

// Withdraw implements store.Store.
func (m *Memory) Withdraw(ctx context.Context, before models.Millis) (bool, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	n := len(m.Told.Retirements)
	m.Told.Retirements = slices.DeleteFunc(m.Told.Retirements, func(r store.Retirement) bool { return r.Before == before && !r.Decided() })
	return len(m.Told.Retirements) < n, ctx.Err()
}

// Committed implements store.Store.
func (m *Memory) Committed(ctx context.Context, p models.Partition) (int64, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	return m.OwnerRows[p].Committed, ctx.Err()
}

// ListNames implements store.Store.
func (m *Memory) ListNames(ctx context.Context, names []models.Name) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if m.OnNames != nil {
		if err := m.OnNames(names); err != nil {
			return err
		}
	}
	for _, n := range names {
		switch n.List {
		case models.LinksByDay, models.SitesByMonth, models.ValuesByMonth:
			m.Names[n] = true
		default:
			return fmt.Errorf("listing names: no list %q", n.List)
		}
	}
	return ctx.Err()
}

// NoteProgress implements store.Store.
func (m *Memory) NoteProgress(ctx context.Context, rows []store.Progress) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	for _, row := range rows {
		if row.EventTime.IsZero() {
			row.EventTime = m.Noted[row.Partition].EventTime
		}
		m.Noted[row.Partition] = row
	}
	return ctx.Err()
}

// Ledger implements store.Store.
func (m *Memory) Ledger(ctx context.Context, keys []models.Key, found func(int, []store.LedgerRow)) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.LedgerReads += len(keys)
	for i, key := range keys {
		if rows := m.LedgerRows[key]; len(rows) > 0 {
			found(i, SortedRows(rows))
		}
	}
	return ctx.Err()
}

// Confirm implements store.Store.
func (m *Memory) Confirm(ctx context.Context, keys []models.Key, _ func(int) iter.Seq[models.Cell], found func(int, []store.LedgerRow)) (bool, error) {
	return true, m.Ledger(ctx, keys, found)
}

// Apply implements store.Store.
func (m *Memory) Apply(ctx context.Context, writes []store.KeyWrite) []error {
	errs := make([]error, len(writes))
	if err := store.CheckFence(ctx); err != nil {
		return slices.Repeat([]error{err}, len(writes))
	}
	m.Mu.Lock()
	defer m.Mu.Unlock()
	for i, w := range writes {
		var f Fault
		if m.OnApply != nil {
			f = m.OnApply(w)
		}
		refusal := refused(w)
		if errs[i] = f.Err; f.Err == nil {
			errs[i] = refusal
		}
		if !f.Lost && refusal == nil {
			m.ApplyOne(w)
		}
	}
	return errs
}

// refused is why a write cannot be applied, as a database refuses what it has no table for.
func refused(w store.KeyWrite) error {
	for cell := range w.Cells {
		if _, known := models.CounterOf(cell.Counter); !known {
			return fmt.Errorf("no such counter: %q", cell.Counter)
		}
	}
	return nil
}

// ApplyOne applies one write. The caller holds Mu, or is the only user.
func (m *Memory) ApplyOne(w store.KeyWrite) {
	m.Writes++
	if m.Counters[w.Key] == nil {
		m.Counters[w.Key], m.LedgerRows[w.Key] = map[models.Cell]int64{}, map[store.LedgerID]store.LedgerRow{}
	}
	for cell, n := range w.Cells {
		m.Counters[w.Key][cell] += n
	}
	for _, add := range w.Ledger {
		row := m.LedgerRows[w.Key][add.LedgerID]
		row.LedgerID = add.LedgerID
		row.From += add.From
		row.To += add.To
		m.LedgerRows[w.Key][add.LedgerID] = row
	}
}

// WriteTimeout implements store.Store.
func (m *Memory) WriteTimeout() time.Duration { return m.Timeout }

// Unknown is the error of a write whose outcome is unknown.
func Unknown(reason string) error {
	return fmt.Errorf("%w: %w", store.ErrUnknownOutcome, errors.New(reason))
}
