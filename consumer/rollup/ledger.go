package rollup

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/models"
)

// errSuperseded: another epoch counted further than this one in some key. Only a new epoch may go on.
var errSuperseded = errors.New("another owner went further: taking a new epoch")

// position is how far a key's counters are in one Kafka partition.
type position struct {
	to    int64 // every event of the key below is counted
	epoch int64 // of our ledger row, which ends at to and is extended; 0: there is none, open one
}

// positions of one key, by partition. A partition that is absent has the zero position.
type positions map[models.Partition]position

// ledger caches the positions of keys, so that a flush need not read them. The cache is valid as long as nobody else owns the
// partitions. Not safe for concurrent use.
type ledger struct {
	store  store.Store
	cache  *simplelru.LRU[models.Key, positions]
	forgot bool // positions were evicted: a key that is not cached may have one
}

func newLedger(store store.Store, size int) *ledger {
	l := &ledger{store: store}
	l.cache, _ = simplelru.NewLRU(max(size, 1), func(models.Key, positions) { l.forgot = true }) // fails for sizes below 1 only
	return l
}

// drop empties the cache. Call it whenever partitions are taken anew.
func (l *ledger) drop() {
	l.cache.Purge()
	l.forgot = false
}

// renew is for new epochs that directly follow our own, because writes of the doubted keys have unknown outcomes. Their rows must not be
// extended any more, so renew removes these keys from the cache. No write is under way for the other keys: we go on extending
// their rows, or each new epoch would cost every key another row.
func (l *ledger) renew(doubted []models.Key) {
	for _, key := range doubted {
		l.cache.Remove(key)
	}
	l.forgot = false // a key that is not cached has no row under the new epochs
}

// forget empties the cache while epochs stay the same: each key's ledger is read again before the key is written.
func (l *ledger) forget() {
	l.cache.Purge()
	l.forgot = true
}

// load returns the positions of the keys in work under the given epochs. It reads the ledgers of keys that are not cached; with
// thorough, from every replica. untouched says that only we, under these epochs, can have counted any of the coming events: then a
// key that was never cached has no position, and is not read. It returns errSuperseded if an epoch may not go on.
func (l *ledger) load(ctx context.Context, work deltas, epochs map[models.Partition]int64, thorough, untouched bool) (loaded, error) {
	out := loaded{at: make(map[models.Key]positions, len(work.keys)), complete: true}
	var missing []models.Key
	for _, key := range work.keys {
		if known, ok := l.cache.Get(key); ok {
			out.at[key] = known
		} else {
			missing = append(missing, key)
		}
	}
	if untouched && !l.forgot {
		for _, key := range missing {
			out.at[key] = positions{}
			l.cache.Add(key, positions{})
		}
		return out, nil
	}
	if len(missing) == 0 {
		return out, nil
	}
	out.reads = len(missing)
	var rows map[models.Key][]store.LedgerRow
	var err error
	if thorough {
		cells := make(map[models.Key][]models.Cell, len(missing))
		for _, key := range missing {
			cells[key] = slices.Collect(maps.Keys(work.sums[key].cells))
		}
		rows, out.complete, err = l.store.Confirm(ctx, cells)
	} else {
		rows, err = l.store.Ledger(ctx, missing)
	}
	if err != nil {
		return out, err
	}
	for _, key := range missing {
		known, err := positionsOf(rows[key], epochs)
		if err != nil {
			return out, err
		}
		out.at[key] = known
		l.cache.Add(key, known)
	}
	return out, nil
}

// loaded is what a load found.
type loaded struct {
	at       map[models.Key]positions
	reads    int
	complete bool // every replica answered, where that was asked for
}

// positionsOf reads positions from a key's ledger rows. Owner rows alone define them: a repair changes the counts of a range, not
// how far the owners are.
func positionsOf(rows []store.LedgerRow, epochs map[models.Partition]int64) (positions, error) {
	out := positions{}
	own := map[models.Partition]int64{}
	for _, row := range rows {
		epoch, mine := epochs[row.Partition]
		if row.Kind != store.KindOwner || !mine {
			continue
		}
		p := out[row.Partition]
		p.to = max(p.to, row.To)
		if row.Epoch == epoch {
			p.epoch = epoch
			own[row.Partition] = row.To
		}
		out[row.Partition] = p
	}
	for partition, to := range own {
		if to < out[partition].to {
			return nil, errSuperseded
		}
	}
	return out, nil
}

// planWrites turns a chunk's sums into one write per key: what its counters do not hold yet, with the ledger rows for it. It is a
// pure function.
func planWrites(work deltas, spans map[models.Partition]eventlog.Span, at map[models.Key]positions, epochs map[models.Partition]int64) []store.KeyWrite {
	writes := make([]store.KeyWrite, 0, len(work.keys))
	for _, key := range work.keys {
		s := work.sums[key]
		w := store.KeyWrite{Key: key, Cells: s.cells}
		for _, partition := range s.partitions {
			if row, ok := extend(spans[partition], at[key][partition]); ok {
				row.LedgerID = store.LedgerID{Partition: partition, Kind: store.KindOwner, Epoch: cmp.Or(at[key][partition].epoch, epochs[partition])}
				w.Ledger = append(w.Ledger, row)
			}
		}
		if len(w.Ledger) > 0 {
			writes = append(writes, w)
		}
	}
	return writes
}

// extend returns the increment of the ledger row that moves a key from its position to the end of the span; false if the key
// is there already.
func extend(s eventlog.Span, p position) (store.LedgerRow, bool) {
	switch {
	case s.To <= p.to:
		return store.LedgerRow{}, false
	case p.epoch != 0:
		return store.LedgerRow{To: s.To - p.to}, true
	}
	return store.LedgerRow{From: max(p.to, s.From), To: s.To}, true
}

// acknowledge notes that a write is in the store: only now do the key's positions move.
func (l *ledger) acknowledge(w store.KeyWrite, spans map[models.Partition]eventlog.Span) {
	known, ok := l.cache.Peek(w.Key)
	if !ok {
		return // more keys in one chunk than the cache holds: the ledger is read again
	}
	moved := maps.Clone(known)
	for _, row := range w.Ledger {
		moved[row.Partition] = position{to: spans[row.Partition].To, epoch: row.Epoch}
	}
	l.cache.Add(w.Key, moved)
}
