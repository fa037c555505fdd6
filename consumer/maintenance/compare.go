package maintenance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"footfall/consumer/store"
	"footfall/models"
)

// Comparison is what comparing two sets of tables found.
type Comparison struct {
	Keys, Cells int // compared
	Differ      int // cells
	Busy        int // keys that were counted on meanwhile, so that nothing can be said about them
	Foreign     int // keys that also hold events of topics that were not replayed
}

// Side is one set of tables, and how far all of its keys are at least, by partition of the log. Nil: it is not compared by that.
type Side struct {
	Store store.CompareStore
	At    map[models.Partition]int64
}

// Comparer compares the same keys of two sides.
type Comparer struct {
	Live, Fresh Side
	Report      func(string, ...any)
	Parts       int // 0: one

	mu    sync.Mutex
	Found Comparison
	Busy  []models.Key // to be compared again
}

// The lines that are printed about cells that differ; the keys that are compared at once, of those that are compared one by one; and
// the keys that are remembered because they were busy. What is more stays busy.
const (
	maxDiffering  = 20
	compareAtOnce = 16
	maxBusy       = 100_000
)

// All compares all keys of both sides, of some keyspaces, that want tells to compare.
func (c *Comparer) All(ctx context.Context, keyspaces []models.Keyspace, want func(models.Key) bool) error {
	w := Walker{Keyspaces: keyspaces, Parts: max(1, c.Parts), AtOnce: WalkAtOnce, What: "keys", Report: c.Report}
	_, err := w.Walk(ctx, func(ctx context.Context, part store.Part, read func(int)) (bool, error) {
		err := c.Fresh.Store.Keys(ctx, part, func(batch []store.KeyLedger) error {
			read(len(batch))
			return c.compare(ctx, wanted(batch, want), true)
		})
		if err != nil {
			return false, err
		}
		return true, c.Live.Store.Keys(ctx, part, func(batch []store.KeyLedger) error {
			read(len(batch))
			missing, err := c.missing(ctx, wanted(batch, want))
			if err != nil {
				return err
			}
			return c.compare(ctx, missing, true)
		})
	})
	return err
}

func wanted(batch []store.KeyLedger, want func(models.Key) bool) (keys []models.Key) {
	for _, k := range batch {
		if want(k.Key) {
			keys = append(keys, k.Key)
		}
	}
	return keys
}

// missing lists those of live's keys that fresh does not have: the others have been compared.
func (c *Comparer) missing(ctx context.Context, keys []models.Key) (missing []models.Key, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	rows, err := ledgersOf(ctx, c.Fresh.Store, keys, true)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(keys, func(key models.Key) bool { return len(rows[key]) > 0 }), nil
}

// Again compares the keys that were busy.
func (c *Comparer) Again(ctx context.Context) error {
	keys := c.Busy
	c.Busy = nil
	for some := range slices.Chunk(keys, compareAtOnce) {
		if err := c.compare(ctx, some, false); err != nil {
			return err
		}
	}
	return nil
}

// cellsOf reads the cells of keys of one keyspace; together: they lie next to each other.
func cellsOf(ctx context.Context, store store.CompareStore, keys []models.Key, together bool) (map[models.Key]map[models.Cell]int64, error) {
	return patiently(ctx, func() (map[models.Key]map[models.Cell]int64, error) {
		if together && keys[0].Keyspace == models.URLShortener {
			return store.LinkCells(ctx, keys)
		}
		var mu sync.Mutex
		out := make(map[models.Key]map[models.Cell]int64, len(keys))
		group, working := errgroup.WithContext(ctx)
		group.SetLimit(compareAtOnce)
		for _, key := range keys {
			group.Go(func() error {
				cells, err := store.Cells(working, key)
				mu.Lock()
				defer mu.Unlock()
				out[key] = cells
				return err
			})
		}
		return out, group.Wait()
	})
}

// ledgersOf is the same for ledgers.
func ledgersOf(ctx context.Context, db store.CompareStore, keys []models.Key, together bool) (map[models.Key][]store.LedgerRow, error) {
	return patiently(ctx, func() (map[models.Key][]store.LedgerRow, error) {
		if together && keys[0].Keyspace == models.URLShortener {
			return db.LinkLedgers(ctx, keys)
		}
		return db.Ledger(ctx, keys)
	})
}

// compare compares the cells of keys of one keyspace, adds up what it finds, and keeps those that it can say nothing about yet. Their
// ledgers are read before and after.
func (c *Comparer) compare(ctx context.Context, keys []models.Key, together bool) error {
	if len(keys) == 0 {
		return nil
	}
	before, err := c.ledgers(ctx, keys, together)
	if err != nil {
		return err
	}
	live, err := cellsOf(ctx, c.Live.Store, keys, together)
	if err != nil {
		return fmt.Errorf("comparing %s: %w", keys[0].Name, err)
	}
	fresh, err := cellsOf(ctx, c.Fresh.Store, keys, together)
	if err != nil {
		return fmt.Errorf("comparing %s: %w", keys[0].Name, err)
	}
	after, err := c.ledgers(ctx, keys, together)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		busy := !slices.Equal(before[0][key], after[0][key]) || !slices.Equal(before[1][key], after[1][key])
		behind, foreign := c.beyond(before, key)
		switch {
		case (busy || behind) && len(c.Busy) < maxBusy:
			c.Busy = append(c.Busy, key)
		case busy || behind:
			c.Found.Busy++
		case foreign:
			c.Found.Foreign++
		default:
			c.differ(key, live[key], fresh[key])
		}
	}
	return nil
}

// beyond tells whether one side has counted what the other has not seen yet, and whether it has what the other will never see.
func (c *Comparer) beyond(rows [2]map[models.Key][]store.LedgerRow, key models.Key) (behind, foreign bool) {
	for i, other := range []Side{c.Fresh, c.Live} {
		if other.At == nil {
			continue
		}
		for _, row := range rows[i][key] {
			at, known := other.At[row.Partition]
			foreign = foreign || !known
			behind = behind || known && row.Kind == store.KindOwner && row.To > at
		}
	}
	return behind, foreign
}

// differ compares the cells of a key.
func (c *Comparer) differ(key models.Key, live, fresh map[models.Cell]int64) {
	seen := make(map[models.Cell]int64, len(live))
	maps.Copy(seen, live)
	maps.Copy(seen, fresh)
	c.Found.Keys++
	c.Found.Cells += len(seen)
	for _, cell := range slices.SortedFunc(maps.Keys(seen), compareCells) {
		if live[cell] == fresh[cell] {
			continue
		}
		if c.Found.Differ++; c.Found.Differ <= maxDiffering {
			c.Report("%s: in use %d, counted again %d", describeCell(key, cell), live[cell], fresh[cell])
		}
	}
}

// ledgers reads the ledgers of live and of fresh.
func (c *Comparer) ledgers(ctx context.Context, keys []models.Key, together bool) (rows [2]map[models.Key][]store.LedgerRow, err error) {
	for i, s := range []Side{c.Live, c.Fresh} {
		if rows[i], err = ledgersOf(ctx, s.Store, keys, together); err != nil {
			return rows, err
		}
	}
	return rows, nil
}
