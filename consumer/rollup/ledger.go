package rollup

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"

	"footfall/consumer/eventlog"
	"footfall/consumer/eventlog/sums"
	"footfall/consumer/rollup/positioncache"
	"footfall/consumer/store"
	"footfall/models"
)

// errSuperseded: another epoch counted further than this one in some key. Only a new epoch may go on.
var errSuperseded = errors.New("another owner went further: taking a new epoch")

// positions of one key, at most one for each partition.
type positions []positioncache.Position

// in returns the position in a partition; the zero position if there is none.
func (all positions) in(p models.Partition) positioncache.Position {
	for _, one := range all {
		if one.Partition == p {
			return one
		}
	}
	return positioncache.Position{Partition: p}
}

// moved sets the position in a partition.
func (all positions) moved(to positioncache.Position) positions {
	for i, one := range all {
		if one.Partition == to.Partition {
			all[i] = to
			return all
		}
	}
	return append(all, to)
}

// ledger caches the positions of keys, so that a flush need not read them. The cache is valid as long as nobody else owns the
// partitions. Not safe for concurrent use.
type ledger struct {
	store   store.Store
	hasher  eventlog.Hasher
	cache   *positioncache.Cache
	scratch positions
}

func newLedger(store store.Store, h eventlog.Hasher, size int) *ledger {
	return &ledger{store: store, hasher: h, cache: positioncache.New(h, size)}
}

// resize makes the cache anew with another size. Call it before partitions are taken.
func (l *ledger) resize(size int) { l.cache = positioncache.New(l.hasher, size) }

// drop empties the cache. Call it whenever partitions are taken anew.
func (l *ledger) drop() { l.cache.Purge() }

// renew is for new epochs that directly follow our own, because writes of the doubted keys have unknown outcomes. Their rows must not be
// extended any more, so renew removes these keys from the cache. No write is under way for the other keys: we go on extending
// their rows, or each new epoch would cost every key another row.
func (l *ledger) renew(doubted []models.Key) {
	for _, key := range doubted {
		l.cache.Remove(key)
	}
	l.cache.Forgot = false // a key that is not cached has no row under the new epochs
}

// forget empties the cache while epochs stay the same: each key's ledger is read again before the key is written.
func (l *ledger) forget() {
	l.cache.Purge()
	l.cache.Forgot = true
}

// load returns the positions of the keys in work under the given epochs. It reads the ledgers of keys that are not cached; with
// thorough, from every replica. untouched says that only we, under these epochs, can have counted any of the coming events: then a
// key that was never cached has no position, and is not read. It returns errSuperseded if an epoch may not go on.
func (l *ledger) load(ctx context.Context, work deltas, epochs map[models.Partition]int64, thorough, untouched bool) (loaded, error) {
	out := loaded{at: positioncache.NewByNumber(work.Keys()), complete: true}
	var missing []models.Key
	var ones []sums.One // of missing
	for key, one := range work.All() {
		known, found := l.cache.Append(l.scratch[:0], key)
		if l.scratch = known; found {
			out.at.Set(one.Number(), known)
		} else {
			missing, ones = append(missing, key), append(ones, one)
		}
	}
	if untouched && !l.cache.Forgot {
		for _, key := range missing {
			l.cache.Put(key, nil)
		}
		return out, nil
	}
	if len(missing) == 0 {
		return out, nil
	}
	out.reads = len(missing)
	var superseded, err error
	found := func(i int, rows []store.LedgerRow) { // at once: each crash may have left a key a row in each partition
		known, err := positionsOf(rows, epochs)
		if err != nil {
			superseded = err
		}
		out.at.Set(ones[i].Number(), known)
	}
	if thorough {
		out.complete, err = l.store.Confirm(ctx, missing, func(i int) iter.Seq[models.Cell] { return ones[i].Names() }, found)
	} else {
		err = l.store.Ledger(ctx, missing, found)
	}
	if err := cmp.Or(err, superseded); err != nil {
		return out, err
	}
	for i, key := range missing {
		l.scratch = out.at.Append(l.scratch[:0], ones[i].Number())
		l.cache.Put(key, l.scratch)
	}
	return out, nil
}

// loaded is what a load found.
type loaded struct {
	at       *positioncache.ByNumber // by the number of the key
	reads    int
	complete bool // every replica answered, where that was asked for
}

// positionsOf reads positions from a key's ledger rows. Owner rows alone define them: a repair changes the counts of a range, not
// how far the owners are.
func positionsOf(rows []store.LedgerRow, epochs map[models.Partition]int64) (positions, error) {
	var out positions
	var own positions // our rows, under these epochs
	for _, row := range rows {
		epoch, mine := epochs[row.Partition]
		if row.Kind != store.KindOwner || !mine {
			continue
		}
		p := out.in(row.Partition)
		p.To = max(p.To, row.To)
		if row.Epoch == epoch {
			p.Epoch = epoch
			own = append(own, positioncache.Position{Partition: row.Partition, To: row.To})
		}
		out = out.moved(p)
	}
	for _, p := range own {
		if p.To < out.in(p.Partition).To {
			return nil, errSuperseded
		}
	}
	return out, nil
}

// planWrites turns a chunk's sums into one write per key: what its counters do not hold yet, with the ledger rows for it. It is a
// pure function.
func planWrites(work iter.Seq2[models.Key, sums.One], spans map[models.Partition]eventlog.Span, at *positioncache.ByNumber, epochs map[models.Partition]int64) (writes []store.KeyWrite) {
	for key, one := range work {
		w := store.KeyWrite{Key: key}
		for partition := range one.Partitions() {
			p := at.In(one.Number(), partition)
			if row, ok := extend(spans[partition], p); ok {
				row.LedgerID = store.LedgerID{Partition: partition, Kind: store.KindOwner, Epoch: cmp.Or(p.Epoch, epochs[partition])}
				w.Ledger = append(w.Ledger, row)
			}
		}
		if len(w.Ledger) > 0 {
			w.Cells = maps.Collect(one.Cells())
			writes = append(writes, w)
		}
	}
	return writes
}

// extend returns the increment of the ledger row that moves a key from its position to the end of the span; false if the key
// is there already.
func extend(s eventlog.Span, p positioncache.Position) (store.LedgerRow, bool) {
	switch {
	case s.To <= p.To:
		return store.LedgerRow{}, false
	case p.Epoch != 0:
		return store.LedgerRow{To: s.To - p.To}, true
	}
	return store.LedgerRow{From: max(p.To, s.From), To: s.To}, true
}

// acknowledge notes that a write is in the store: only now do the key's positions move.
func (l *ledger) acknowledge(w store.KeyWrite, spans map[models.Partition]eventlog.Span) {
	known, ok := l.cache.Append(l.scratch[:0], w.Key)
	if !ok {
		return // more keys in one chunk than the cache holds: the ledger is read again
	}
	l.scratch = known
	for _, row := range w.Ledger {
		l.scratch = l.scratch.moved(positioncache.Position{Partition: row.Partition, To: spans[row.Partition].To, Epoch: row.Epoch})
	}
	l.cache.Put(w.Key, l.scratch)
}
