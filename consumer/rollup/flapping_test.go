package rollup

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"footfall/models"
)

// flapping is a store whose connection is lost at one read in three.
type flapping struct {
	*memory
	reads int
}

func (s *flapping) lost() error {
	if s.reads++; s.reads%3 == 1 {
		return fmt.Errorf("%w: reset", ErrDisconnected)
	}
	return nil
}

func (s *flapping) FirstSeen(ctx context.Context, sightings []models.Sighting) ([]models.Position, error) {
	if err := s.lost(); err != nil {
		return nil, err
	}
	return s.memory.FirstSeen(ctx, sightings)
}

func (s *flapping) Ledger(ctx context.Context, keys []models.Key) (map[models.Key][]LedgerRow, error) {
	if err := s.lost(); err != nil {
		return nil, err
	}
	return s.memory.Ledger(ctx, keys)
}

// A read that is lost leaves nothing in doubt: it takes no new epoch, which would be a row more in the ledger of every key. What is
// remembered of the store is read again.
func TestAConnectionThatFlapsLeavesNoRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.timeout = 5 * time.Second
		o := newOwner(t, m, 10)
		s := &flapping{memory: m}
		o.store, o.visitors.store, o.ledger.store = s, s, s
		epoch := o.partitions[p0].tenure.Epoch
		for i := range 1000 {
			flush(t, o, chunkOf(o, p0, fmt.Sprint("192.0.2.", i)))
		}
		if s.reads < 3000 {
			t.Errorf("%d reads, want 1,000 lost ones", s.reads)
		}
		if rows := len(m.ledger[abc]); rows != 1 || o.partitions[p0].tenure.Epoch != epoch {
			t.Errorf("1,000 flaps leave %d rows, and epoch %d after %d", rows, o.partitions[p0].tenure.Epoch, epoch)
		}
		if n := m.cells[abc][hit]; n != 1000 || len(m.doubts[p0]) > 0 {
			t.Errorf("%d clicks of 1,000, doubts %v", n, m.doubts[p0])
		}
	})
}
