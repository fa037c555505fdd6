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

// errSuperseded: a later epoch went further than this one in some key. Only a new epoch may go on.
var errSuperseded = errors.New("another owner went further: taking a new epoch")

// position is how far a key's counters are in one Kafka partition.
type position struct {
	to    int64 // every event of the key below is counted
	epoch int64 // of the ledger row that goes on there, which is one of our own; 0: a row has to be opened
}

// positions of one key, by partition. A partition that is absent has the zero position.
type positions map[models.Partition]position

// ledger remembers positions of keys, so that they are not read again for each flush. What it holds is true as long as nobody else
// has the partitions. Not safe for concurrent use.
type ledger struct {
	store  store.Store
	cache  *simplelru.LRU[models.Key, positions]
	forgot bool // some position
}

func newLedger(store store.Store, size int) *ledger {
	l := &ledger{store: store}
	l.cache, _ = simplelru.NewLRU(max(size, 1), func(models.Key, positions) { l.forgot = true }) // fails for sizes below 1 only
	return l
}

// drop forgets all positions; it must be called whenever epochs change hands.
func (l *ledger) drop() {
	l.cache.Purge()
	l.forgot = false
}

// renew is for when our epochs have followed each other, since writes of these keys are in doubt: their rows must not be added to any more, and
// their positions are forgotten. Nothing is under way for the others, whose rows go on as they are: a row more for every key would
// be all that a new epoch gives them.
func (l *ledger) renew(doubted []models.Key) {
	for _, key := range doubted {
		l.cache.Remove(key)
	}
	l.forgot = false // what is not remembered has no row under the new epochs
}

// forget forgets all positions under epochs that stay the same: each key is read again before more is added to it.
func (l *ledger) forget() {
	l.cache.Purge()
	l.forgot = true
}

// load returns the positions of the keys in work under the given epochs, reading those that are not remembered; with
// thorough from every replica. With untouched nobody but ourselves, under these epochs, can have counted what comes: a key
// that is not remembered then has no position that matters, unless we forgot it. It returns errSuperseded if an epoch may not
// go on.
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

// positionsOf reads positions from a key's ledger rows. Owner rows alone define them: a repair changes what a range is
// worth, not how far the owners are.
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

// planWrites turns a chunk's sums into one write per key: what its counters do not hold yet, and the ledger rows that say so. It is a
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

// extend is the increment of the ledger row that moves a key from its position to the end of the span; false if it is
// there already.
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
