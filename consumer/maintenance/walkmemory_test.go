package maintenance

import (
	"context"
	"flag"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// many is a store of n keys that it generates when they are read.
type many struct {
	*memstore.Memory
	n     int
	heap  atomic.Uint64 // the most bytes that were in use
	asked atomic.Int64
}

func (m *many) Keys(_ context.Context, part store.Part, each func([]store.KeyLedger) error) error {
	if part.Keyspace != models.URLShortener {
		return nil
	}
	var batch []store.KeyLedger
	for i := part.Number; i < m.n; i += part.Of {
		w := link(i)
		if batch = append(batch, store.KeyLedger{Key: w.Key, Rows: w.Ledger}); len(batch) == 500 || i+part.Of >= m.n {
			if err := each(batch); err != nil {
				return err
			}
			batch = nil
			m.weigh()
		}
	}
	return nil
}

// weigh measures the heap after a collection, at every 200th call.
func (m *many) weigh() {
	if m.asked.Add(1)%200 != 0 {
		return
	}
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	for old := m.heap.Load(); s.HeapAlloc > old && !m.heap.CompareAndSwap(old, s.HeapAlloc); old = m.heap.Load() {
	}
}

func (m *many) made(keys []models.Key) (writes []store.KeyWrite) {
	for _, key := range keys {
		i, _ := strconv.Atoi(key.Name[len("link"):])
		writes = append(writes, link(i))
	}
	return writes
}

func (m *many) Ledger(_ context.Context, keys []models.Key, found func(int, []store.LedgerRow)) error {
	for i, w := range m.made(keys) {
		found(i, w.Ledger)
	}
	return nil
}

func (m *many) LinkLedgers(ctx context.Context, keys []models.Key) (map[models.Key][]store.LedgerRow, error) {
	return store.Ledgers(ctx, m, keys)
}

func (m *many) Sums(_ context.Context, keys []models.Key) (map[models.Key]store.LinkSums, error) {
	out := map[models.Key]store.LinkSums{}
	for _, w := range m.made(keys) {
		sums := store.LinkSums{Counters: map[string]int64{}, Ledger: w.Ledger}
		for cell, n := range w.Cells {
			sums.Counters[cell.Counter] += n
		}
		out[w.Key] = sums
	}
	return out, nil
}

func (m *many) LinkCells(_ context.Context, keys []models.Key) (map[models.Key]map[models.Cell]int64, error) {
	out := map[models.Key]map[models.Cell]int64{}
	for _, w := range m.made(keys) {
		out[w.Key] = w.Cells
	}
	return out, nil
}

var manyKeys = flag.Int("walk.keys", 50_000, "keys that are audited and compared in memory")

// However many keys there are, audit and compare hold only those in memory that they are reading.
func TestAuditAndCompareUseBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	f := func(what string, do func(*many) error) {
		t.Helper()
		m := &many{Memory: memstore.New(), n: *manyKeys}
		runtime.GC()
		var before runtime.MemStats
		runtime.ReadMemStats(&before)
		started := time.Now()
		if err := do(m); err != nil {
			t.Error(err)
		}
		used := int64(m.heap.Load()) - int64(before.HeapAlloc)
		t.Logf("%s %d keys: %d KB in use at the most, %v", what, m.n, used>>10, time.Since(started).Round(time.Millisecond))
		if m.heap.Load() == 0 || used > 64<<20 {
			t.Errorf("%s %d keys takes %d KB", what, m.n, used>>10)
		}
	}
	f("auditing", func(m *many) error {
		c := NewAuditor(testChecker(m.Memory, clicksLog(1)), m, WalkParts, WalkAtOnce)
		found, err := c.Run(t.Context(), AuditOptions{}, func(string) {})
		if found != (Audit{Keys: m.n}) {
			t.Errorf("%+v", found)
		}
		return err
	})
	f("comparing", func(m *many) error {
		c := &Comparer{Live: Side{Store: m}, Fresh: Side{Store: m}, Parts: WalkParts, Report: func(string, ...any) {}}
		err := c.All(t.Context(), Keyspaces, func(models.Key) bool { return true })
		if c.Found != (Comparison{Keys: m.n, Cells: 10 * m.n}) {
			t.Errorf("%+v", c.Found)
		}
		return err
	})
}
