package rollup

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

func linkAt(o *ownership, c *chunk, p models.Partition, offset int64, link string) {
	o.add(c, eventlog.Item{Partition: p, Offset: offset, Event: &models.Click{
		V: 1, ID: fmt.Sprint(p, offset), ShortURL: link, IP: fmt.Sprint(p.Number), TS: models.Earliest,
	}})
}

// countAll counts a hundred links, each with an event in both partitions, chunk by chunk.
func countAll(t *testing.T, o *ownership) {
	t.Helper()
	for i := int64(0); i < 100; i += 10 {
		c := newChunk(false)
		for offset := i; offset < i+10; offset++ {
			linkAt(o, c, p0, offset, fmt.Sprint("link", offset))
			linkAt(o, c, p1, offset, fmt.Sprint("link", offset))
		}
		flush(t, o, c)
	}
}

func allClicksIn(m *memstore.Memory) (n int64) {
	for _, cells := range m.Counters {
		n += cells[hit]
	}
	return n
}

// newHeir makes an owner whose predecessor did not leave clean, and counted nothing from clear on.
func newHeir(t *testing.T, m *memstore.Memory, clear int64) *ownership {
	t.Helper()
	o := newOwner(t, m, 100)
	for _, own := range o.partitions {
		own.uncountedFrom = clear
	}
	return o
}

// The ledger is not read where nobody else can have counted. After a lost connection it is: the chunk may be half counted.
func TestTheLedgerIsReadAfterALostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		m.Timeout = 5 * time.Second
		newOwner(t, m, 100)
		o := newHeir(t, m, 3)
		c := newChunk(false)
		for offset := range int64(3) {
			linkAt(o, c, p0, offset, "old")
			linkAt(o, c, p1, offset, "old")
		}
		flush(t, o, c)
		if !o.untouched() {
			t.Fatal("the ledger would be read for nothing")
		}
		c = newChunk(false)
		linkAt(o, c, p0, 3, "aaa")
		linkAt(o, c, p0, 4, "bbb")
		failed := false
		m.OnApply = func(w store.KeyWrite) memstore.Fault {
			if w.Key.Name != "bbb" || failed {
				return memstore.Fault{}
			}
			failed = true
			return memstore.Fault{Err: fmt.Errorf("%w: no connections", store.ErrDisconnected), Lost: true}
		}
		flush(t, o, c)
		if n := allClicksIn(m); n != 8 {
			t.Errorf("%d clicks of 8", n)
		}
	})
}

// Where the group was ahead of the tables they were restored, and what is in them is not taken for granted: the ledger is read, also if they
// have never had an owner.
func TestTheLedgerOfRestoredTablesIsRead(t *testing.T) {
	o := newOwner(t, memstore.New(), 100)
	if !o.untouched() {
		t.Fatal("the ledger of new tables would be read for nothing")
	}
	o.partitions[p1].restored = true
	if o.untouched() {
		t.Error("the ledger of restored tables would not be read")
	}
}

// A group that is set back counts nothing twice: whether its last owner left clean or not, and also after a write of unknown outcome.
func TestAGroupSetBackCountsNothingTwice(t *testing.T) {
	f := func(name string, clean bool) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memstore.New()
				m.Timeout = 5 * time.Second
				o := newOwner(t, m, 100)
				countAll(t, o)
				if clean {
					if err := o.release(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				o = newHeir(t, m, 100)
				if clean {
					spans := map[models.Partition]eventlog.Span{p0: {From: 0, To: 10}, p1: {From: 0, To: 10}}
					if err := o.recover(t.Context(), &chunk{spans: spans}, memstore.Unknown("timeout"), 0); err != nil {
						t.Fatal(err)
					}
				}
				countAll(t, o)
				if n := allClicksIn(m); n != 200 {
					t.Errorf("%d clicks of 200", n)
				}
			})
		})
	}
	f("not left clean", false)
	f("left clean, then a timeout", true)
}
