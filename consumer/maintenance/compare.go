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
	Differ      int // cells that differ
	Busy        int // keys that could not be compared, since consumers wrote to them meanwhile
	Foreign     int // keys that were not compared, since they also hold events of topics that were not replayed
}

// Side is one set of tables.
type Side struct {
	Store store.CompareStore
	At    map[models.Partition]int64 // all below this offset is counted; nil: Comparer does not check progress against this side
}

// Comparer compares the keys of two sides. Its methods must not be called concurrently.
type Comparer struct {
	Live, Fresh Side
	Report      Reporter // called concurrently
	Parts       int      // that a keyspace is read in; 0: one

	mu    sync.Mutex
	Found Comparison
	Busy  []models.Key // for Again
}

const (
	maxDiffering  = 20      // lines that are printed about cells that differ
	compareAtOnce = 16      // concurrent reads of keys that are read one by one
	maxBusy       = 100_000 // busy keys that are kept for Again; more are reported as busy
)

// All compares the keys of both sides that lie in these keyspaces and that want accepts. It keeps busy keys for Again.
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

// missing lists those of live's keys that fresh does not have. The others are compared already.
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

// Again compares the busy keys again.
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

// cellsOf reads the cells of keys of one keyspace. together: the keys are neighbours in token order, so ranges are read.
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

// ledgersOf does the same for ledgers.
func ledgersOf(ctx context.Context, db store.CompareStore, keys []models.Key, together bool) (map[models.Key][]store.LedgerRow, error) {
	return patiently(ctx, func() (map[models.Key][]store.LedgerRow, error) {
		if together && keys[0].Keyspace == models.URLShortener {
			return db.LinkLedgers(ctx, keys)
		}
		return store.Ledgers(ctx, db, keys)
	})
}

// compare compares the cells of keys of one keyspace and adds to Found. It reads the ledgers before and after the cells: a key whose ledger
// changed is busy.
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

// beyond tells whether one side has counted offsets that the other has not reached (behind), or topics that the other does not count (foreign).
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

// differ compares the cells of one key, adds to Found, and reports differences.
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

// ledgers reads the ledgers of both sides: live's, then fresh's.
func (c *Comparer) ledgers(ctx context.Context, keys []models.Key, together bool) (rows [2]map[models.Key][]store.LedgerRow, err error) {
	for i, s := range []Side{c.Live, c.Fresh} {
		if rows[i], err = ledgersOf(ctx, s.Store, keys, together); err != nil {
			return rows, err
		}
	}
	return rows, nil
}
