package rollup

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

// side is one set of tables, and how far all of its keys are at least, by partition of the log. Nil: it is not compared by that.
type side struct {
	store store.CompareStore
	at    map[models.Partition]int64
}

// comparer compares the same keys of two sides.
type comparer struct {
	live, fresh side
	report      func(string, ...any)
	parts       int // 0: one

	mu    sync.Mutex
	found Comparison
	busy  []models.Key // to be compared again
}

// The lines that are printed about cells that differ; the keys that are compared at once, of those that are compared one by one; and
// the keys that are remembered because they were busy. What is more stays busy.
const (
	maxDiffering  = 20
	compareAtOnce = 16
	maxBusy       = 100_000
)

// all compares all keys of both sides, of some keyspaces, that want tells to compare.
func (c *comparer) all(ctx context.Context, keyspaces []models.Keyspace, want func(models.Key) bool) error {
	w := walker{keyspaces: keyspaces, parts: max(1, c.parts), atOnce: walkAtOnce, what: "keys", report: c.report}
	_, err := w.walk(ctx, func(ctx context.Context, part store.Part, read func(int)) (bool, error) {
		err := c.fresh.store.Keys(ctx, part, func(batch []store.KeyLedger) error {
			read(len(batch))
			return c.compare(ctx, wanted(batch, want), true)
		})
		if err != nil {
			return false, err
		}
		return true, c.live.store.Keys(ctx, part, func(batch []store.KeyLedger) error {
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
func (c *comparer) missing(ctx context.Context, keys []models.Key) (missing []models.Key, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	rows, err := ledgersOf(ctx, c.fresh.store, keys, true)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(keys, func(key models.Key) bool { return len(rows[key]) > 0 }), nil
}

// again compares the keys that were busy.
func (c *comparer) again(ctx context.Context) error {
	keys := c.busy
	c.busy = nil
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
func (c *comparer) compare(ctx context.Context, keys []models.Key, together bool) error {
	if len(keys) == 0 {
		return nil
	}
	before, err := c.ledgers(ctx, keys, together)
	if err != nil {
		return err
	}
	live, err := cellsOf(ctx, c.live.store, keys, together)
	if err != nil {
		return fmt.Errorf("comparing %s: %w", keys[0].Name, err)
	}
	fresh, err := cellsOf(ctx, c.fresh.store, keys, together)
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
		case (busy || behind) && len(c.busy) < maxBusy:
			c.busy = append(c.busy, key)
		case busy || behind:
			c.found.Busy++
		case foreign:
			c.found.Foreign++
		default:
			c.differ(key, live[key], fresh[key])
		}
	}
	return nil
}

// beyond tells whether one side has counted what the other has not seen yet, and whether it has what the other will never see.
func (c *comparer) beyond(rows [2]map[models.Key][]store.LedgerRow, key models.Key) (behind, foreign bool) {
	for i, other := range []side{c.fresh, c.live} {
		if other.at == nil {
			continue
		}
		for _, row := range rows[i][key] {
			at, known := other.at[row.Partition]
			foreign = foreign || !known
			behind = behind || known && row.Kind == store.KindOwner && row.To > at
		}
	}
	return behind, foreign
}

// differ compares the cells of a key.
func (c *comparer) differ(key models.Key, live, fresh map[models.Cell]int64) {
	seen := make(map[models.Cell]int64, len(live))
	maps.Copy(seen, live)
	maps.Copy(seen, fresh)
	c.found.Keys++
	c.found.Cells += len(seen)
	for _, cell := range slices.SortedFunc(maps.Keys(seen), compareCells) {
		if live[cell] == fresh[cell] {
			continue
		}
		if c.found.Differ++; c.found.Differ <= maxDiffering {
			c.report("%s: in use %d, counted again %d", describeCell(key, cell), live[cell], fresh[cell])
		}
	}
}

// ledgers reads the ledgers of live and of fresh.
func (c *comparer) ledgers(ctx context.Context, keys []models.Key, together bool) (rows [2]map[models.Key][]store.LedgerRow, err error) {
	for i, s := range []side{c.live, c.fresh} {
		if rows[i], err = ledgersOf(ctx, s.store, keys, together); err != nil {
			return rows, err
		}
	}
	return rows, nil
}
