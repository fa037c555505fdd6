package rollup

import (
	"testing"
	"time"

	"footfall/consumer/store/memstore"
)

// An owner that has counted a sealed partition to its end notes that at once.
func TestTheEndOfAPartitionIsNotedAtOnce(t *testing.T) {
	store := memstore.New()
	o := newOwner(t, store, 0)
	o.progressAt = time.Now()
	own := o.partitions[p0]
	for _, next := range []int64{4, 5} {
		own.sealed, own.end, own.next = true, 5, next
		own.counted.Store(next)
		if err := o.progress(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := store.OwnerRows[p0].Committed; (got == 5) != (next == 5) {
			t.Errorf("counted to %d of 5, the store has %d", next, got)
		}
	}
}
