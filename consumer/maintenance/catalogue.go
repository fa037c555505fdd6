package maintenance

import (
	"context"
	"fmt"
	"sync/atomic"

	"footfall/consumer/store"
	"footfall/models"
)

// Catalogued is what filling the lists did.
type Catalogued struct {
	Keys  int // read, also by the run that this one resumed
	Names int // listed by this run; those that were listed already count, too
}

// Catalogue puts everything that is counted into the lists: links by the days of their daycounters, sites and values of features by the keys
// that have a ledger. It is for tables that consumers counted into before there were lists. Consumers may run meanwhile, and it may be run
// again: a name that is listed already stays as it is. A name may be listed whose counters a repair has set to 0.
//
// A run that has finished records that the lists are whole, and readers believe it. No consumer of a version that does not list what it counts
// may run meanwhile or later. Nothing tells: such a consumer may wait for a partition unseen. The caller has to see to it.
type Catalogue struct {
	Store         store.ListStore
	Plan          *models.Plan
	Parts, AtOnce int                  // as in Walker
	Report        func(string, ...any) // called concurrently
}

// Run fills the lists. With resume it continues a run that was stopped within the last week. It returns an error if it could not finish.
func (c *Catalogue) Run(ctx context.Context, resume bool) (done Catalogued, err error) {
	w := Walker{Keyspaces: Keyspaces, Parts: c.Parts, AtOnce: c.AtOnce, What: "keys", Report: c.Report, name: "catalogue", resume: resume, notes: c.Store}
	var keys, names atomic.Int64
	before, err := w.Walk(ctx, func(ctx context.Context, part store.Part, read func(int)) (bool, error) {
		err := c.Store.Keys(ctx, part, func(batch []store.KeyLedger) error {
			read(len(batch))
			keys.Add(int64(len(batch)))
			listed, err := c.list(ctx, batch)
			names.Add(int64(listed))
			return err
		})
		return err == nil, err
	})
	done = Catalogued{Keys: before + int(keys.Load()), Names: int(names.Load())}
	if err != nil {
		return done, fmt.Errorf("listing names: %w", err)
	}
	_, err = patiently(ctx, func() (string, error) { return c.Store.Setting(ctx, models.ListsSetting, models.ListsWhole) })
	if err != nil {
		return done, fmt.Errorf("recording that the lists are whole: %w", err)
	}
	return done, nil
}

// list lists the names of a batch of keys of one keyspace.
func (c *Catalogue) list(ctx context.Context, batch []store.KeyLedger) (int, error) {
	keys := make([]models.Key, len(batch))
	for i, k := range batch {
		keys[i] = k.Key
	}
	days := map[models.Key]map[models.Cell]int64{}
	if keys[0].Keyspace == models.URLShortener {
		var err error
		days, err = patiently(ctx, func() (map[models.Key]map[models.Cell]int64, error) { return c.Store.LinkDays(ctx, keys) })
		if err != nil {
			return 0, err
		}
	}
	var names []models.Name
	for _, key := range keys {
		cells := days[key]
		if key.Keyspace == models.Cardinality {
			cells = map[models.Cell]int64{{}: 1} // which ones does not matter: a key with a ledger has some
		}
		c.Plan.Names(key, cells, func(n models.Name) { names = append(names, n) })
	}
	if len(names) == 0 {
		return 0, nil
	}
	_, err := patiently(ctx, func() (struct{}, error) { return struct{}{}, c.Store.ListNames(ctx, names) })
	return len(names), err
}
