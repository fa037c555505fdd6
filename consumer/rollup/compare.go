package rollup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"footfall/models"
)

// CompareStore is a store whose counters can be held against those of another.
type CompareStore interface {
	RetireStore
	// Cells reads all counters of a key.
	Cells(ctx context.Context, key models.Key) (map[models.Cell]int64, error)
}

// Comparison is what comparing two sets of tables found.
type Comparison struct {
	Keys, Cells int // compared
	Differ      int // cells
	Busy        int // keys that were counted on meanwhile, so that nothing can be said about them
	Foreign     int // keys that also hold events of topics that were not replayed
}

// side is one set of tables, and how far all of its keys are at least, by partition of the log. Nil: it is not compared by that.
type side struct {
	store CompareStore
	at    map[models.Partition]int64
}

// comparer compares the same keys of two sides.
type comparer struct {
	live, fresh side
	report      func(string, ...any)
}

// The lines that are printed about cells that differ, and the keys that are compared at once.
const (
	maxDiffering  = 20
	compareAtOnce = 16
)

// keys lists all keys of both sides that want tells to compare.
func (c *comparer) keys(ctx context.Context, want func(models.Key) bool) ([]models.Key, error) {
	all := map[models.Key]bool{}
	for _, s := range []side{c.fresh, c.live} {
		err := s.store.Keys(ctx, func(key models.Key, _ []LedgerRow) error {
			if want(key) {
				all[key] = true
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("listing keys: %w", err)
		}
	}
	return slices.SortedFunc(maps.Keys(all), compareKeys), nil
}

// compare compares the cells of keys, adds up what it finds, and returns those keys that it can say nothing about yet.
func (c *comparer) compare(ctx context.Context, keys []models.Key, found *Comparison) (busy []models.Key, err error) {
	var mu sync.Mutex
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(compareAtOnce)
	for _, key := range keys {
		group.Go(func() error {
			pair, err := c.read(working, key)
			if err != nil {
				return fmt.Errorf("comparing %s: %w", key.Name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case pair.busy:
				busy = append(busy, key)
			case pair.foreign:
				found.Foreign++
			default:
				found.Keys++
				found.Cells += len(pair.all)
				for _, cell := range pair.all {
					if pair.live[cell] == pair.fresh[cell] {
						continue
					}
					if found.Differ++; found.Differ <= maxDiffering {
						c.report("%s: in use %d, counted again %d", describeCell(key, cell), pair.live[cell], pair.fresh[cell])
					}
				}
			}
			return nil
		})
	}
	err = group.Wait()
	slices.SortFunc(busy, compareKeys)
	return busy, err
}

// pair is a key as both sides have it.
type pair struct {
	live, fresh   map[models.Cell]int64
	all           []models.Cell
	busy, foreign bool
}

// read reads a key on both sides, its ledgers before and after.
func (c *comparer) read(ctx context.Context, key models.Key) (p pair, err error) {
	before, err := c.ledgers(ctx, key)
	if err != nil {
		return p, err
	}
	if p.live, err = c.live.store.Cells(ctx, key); err != nil {
		return p, err
	}
	if p.fresh, err = c.fresh.store.Cells(ctx, key); err != nil {
		return p, err
	}
	after, err := c.ledgers(ctx, key)
	if err != nil {
		return p, err
	}
	seen := maps.Clone(p.live)
	maps.Copy(seen, p.fresh)
	p.all = slices.SortedFunc(maps.Keys(seen), compareCells)
	p.busy = !slices.Equal(before[0], after[0]) || !slices.Equal(before[1], after[1])
	for i, other := range []side{c.fresh, c.live} {
		if other.at == nil {
			continue
		}
		for _, row := range before[i] {
			at, known := other.at[row.Partition]
			p.foreign = p.foreign || !known
			p.busy = p.busy || known && row.Kind == KindOwner && row.To > at
		}
	}
	return p, nil
}

func (c *comparer) ledgers(ctx context.Context, key models.Key) (rows [2][]LedgerRow, err error) {
	for i, s := range []side{c.live, c.fresh} {
		list, err := s.store.Ledger(ctx, []models.Key{key})
		if err != nil {
			return rows, err
		}
		rows[i] = list[key]
	}
	return rows, nil
}
