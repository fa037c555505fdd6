package rollup

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/repair"
	"footfall/consumer/rollup/sight"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// flapping is a store that loses its connection at every third read.
type flapping struct {
	*memstore.Memory
	reads int
}

func (s *flapping) lost() error {
	if s.reads++; s.reads%3 == 1 {
		return fmt.Errorf("%w: reset", store.ErrDisconnected)
	}
	return nil
}

func (s *flapping) FirstSeen(ctx context.Context, sightings []models.Sighting) ([]models.Position, error) {
	if err := s.lost(); err != nil {
		return nil, err
	}
	return s.Memory.FirstSeen(ctx, sightings)
}

func (s *flapping) Ledger(ctx context.Context, keys []models.Key, found func(int, []store.LedgerRow)) error {
	if err := s.lost(); err != nil {
		return err
	}
	return s.Memory.Ledger(ctx, keys, found)
}

// A read that failed leaves nothing in doubt: the consumer takes no new epoch, which would cost every key another ledger row, and only
// reads again what it has cached.
func TestLostReadsTakeNoNewEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		m.Timeout = 5 * time.Second
		o := newOwner(t, m, 10)
		s := &flapping{Memory: m}
		o.store, o.ledger.store = s, s
		o.visitors = sight.New(s, o.hasher, 10, models.FullRow, costAtOnce, o.metrics.LRUHits, o.metrics.Lookups)
		epoch := o.partitions[p0].tenure.Epoch
		for i := range 1000 {
			flush(t, o, chunkOf(o, p0, fmt.Sprint("192.0.2.", i)))
		}
		if s.reads < 3000 {
			t.Errorf("%d reads, want 1,000 lost ones", s.reads)
		}
		if rows := len(m.LedgerRows[abc]); rows != 1 || o.partitions[p0].tenure.Epoch != epoch {
			t.Errorf("1,000 flaps leave %d rows, and epoch %d after %d", rows, o.partitions[p0].tenure.Epoch, epoch)
		}
		if n := m.Counters[abc][hit]; n != 1000 || len(m.OpenDoubts[p0]) > 0 {
			t.Errorf("%d clicks of 1,000, doubts %v", n, m.OpenDoubts[p0])
		}
	})
}

// linksIn is a chunk with a click on each of so many links.
func linksIn(o *ownership, links int) *chunk {
	c := newChunk(false)
	for i := range int64(links) {
		linkAt(o, c, p0, o.partitions[p0].next+i, fmt.Sprint("link", i))
	}
	return c
}

// After a write of unknown outcome only its own key gets a new ledger row. The other keys have no write under way, and keep their rows.
func TestOnlyKeysInDoubtGetNewRows(t *testing.T) {
	const links, flaps = 20, 200
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		m.Timeout = 5 * time.Second
		o := newOwner(t, m, 1000)
		for i := range flaps {
			failed, landed := false, i%2 == 0
			m.OnApply = func(w store.KeyWrite) memstore.Fault {
				if failed || w.Key.Name != fmt.Sprint("link", i%links) {
					return memstore.Fault{}
				}
				failed = true
				return memstore.Fault{Err: memstore.Unknown("reset"), Lost: !landed}
			}
			flush(t, o, linksIn(o, links))
			o.partitions[p0].highWater = 10_000
		}
		rows := 0
		for _, list := range m.LedgerRows {
			rows += len(list)
			if off := repair.Excesses(memstore.SortedRows(list), p0); len(off) > 0 {
				t.Errorf("counted otherwise than once: %v", off)
			}
		}
		if want := links + flaps; rows > want {
			t.Errorf("%d flaps leave %d rows for %d keys, want %d at the most: one more for each write in doubt", flaps, rows, links, want)
		}
		if n := allClicksIn(m); n != links*flaps {
			t.Errorf("%d clicks of %d", n, links*flaps)
		}
	})
}
