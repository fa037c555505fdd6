// Package names puts the names of what is counted into the lists: links by day, sites and values of features by month. A consumer lists names
// before it writes the counters that they stand for, so that a crash leaves a name too many at the most.
package names

import (
	"context"
	"iter"
	"sync"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/models"
)

// Lister lists names, and remembers which are listed already, so that they are not written for each chunk. Safe for concurrent use.
type Lister struct {
	store  store.Store
	plan   *models.Plan
	hasher eventlog.Hasher
	size   int64

	mu     sync.Mutex
	listed eventlog.RingIndex[struct{}] // what the store has acknowledged, the latest ones
	era    int                          // grows with each Drop
}

// New makes a lister that remembers so many names, one at least. A name that it has forgotten is written once more, which does no harm.
func New(db store.Store, plan *models.Plan, h eventlog.Hasher, size int) *Lister {
	l := &Lister{store: db, plan: plan, hasher: h, size: int64(max(size, 1))}
	l.Drop()
	return l
}

// List lists the names of keys and their cells, those that are not known to be listed. When it returns nil, the store has acknowledged
// all of them. After an error it can be called again.
func (l *Lister) List(ctx context.Context, keys iter.Seq2[models.Key, map[models.Cell]int64]) error {
	fresh, ids, era := l.unlisted(keys)
	if len(fresh) == 0 {
		return nil
	}
	if err := l.store.ListNames(ctx, fresh); err != nil {
		return err
	}
	l.remember(ids, era)
	return nil
}

// Drop forgets which names are listed, after a fault that may have cost the store some rows.
func (l *Lister) Drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.era++
	l.listed = eventlog.NewRingIndex[struct{}](l.size, 0)
}

func (l *Lister) unlisted(keys iter.Seq2[models.Key, map[models.Cell]int64]) (fresh []models.Name, ids []eventlog.Fingerprint, era int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, cells := range keys {
		l.plan.Names(key, cells, func(n models.Name) {
			id := eventlog.FingerprintOf(l.hasher, n)
			if _, _, known := l.listed.Find(id); !known {
				fresh, ids = append(fresh, n), append(ids, id)
			}
		})
	}
	return fresh, ids, l.era
}

// remember notes what the store acknowledged in an era. What was dropped meanwhile stays dropped.
func (l *Lister) remember(ids []eventlog.Fingerprint, era int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.era != era {
		return
	}
	for _, id := range ids {
		l.listed.MoveTo(l.listed.Last + 1)
		l.listed.Put(id, struct{}{})
	}
}
