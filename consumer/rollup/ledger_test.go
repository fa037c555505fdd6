package rollup

import (
	"errors"
	"slices"
	"testing"

	"footfall/consumer/eventlog"
	"footfall/consumer/rollup/positioncache"
	"footfall/consumer/store"
	"footfall/models"
)

var (
	p0  = models.Partition{Topic: "clicks", Number: 0}
	p1  = models.Partition{Topic: "clicks", Number: 1}
	abc = models.Key{Keyspace: models.URLShortener, Name: "abc"}
	hit = models.Cell{Counter: models.ClickCounter}
)

func owner(p models.Partition, epoch, from, to int64) store.LedgerRow {
	return store.LedgerRow{LedgerID: store.LedgerID{Partition: p, Kind: store.KindOwner, Epoch: epoch}, From: from, To: to}
}

func reached(p models.Partition, to, epoch int64) positioncache.Position {
	return positioncache.Position{Partition: p, To: to, Epoch: epoch}
}

func TestPositionsOf(t *testing.T) {
	epochs := map[models.Partition]int64{p0: 5, p1: 2}
	f := func(rows []store.LedgerRow, want positions, wantErr error) {
		t.Helper()
		got, err := positionsOf(rows, epochs)
		if !errors.Is(err, wantErr) || err == nil && !slices.Equal(got, want) {
			t.Errorf("positionsOf(%v) = %v, %v; want %v, %v", rows, got, err, want, wantErr)
		}
	}
	f(nil, positions{}, nil)
	// We go on at the end of a predecessor's row, but do not extend it.
	f([]store.LedgerRow{owner(p0, 4, 0, 30)}, positions{reached(p0, 30, 0)}, nil)
	f([]store.LedgerRow{owner(p0, 4, 0, 30), owner(p0, 3, 0, 40)}, positions{reached(p0, 40, 0)}, nil)
	f([]store.LedgerRow{owner(p0, 4, 0, 30), owner(p0, 5, 30, 50)}, positions{reached(p0, 50, 5)}, nil)
	f([]store.LedgerRow{owner(p0, 5, 0, 10), owner(p1, 1, 0, 7)}, positions{reached(p0, 10, 5), reached(p1, 7, 0)}, nil)
	// Repairs move no position.
	f([]store.LedgerRow{{LedgerID: store.LedgerID{Partition: p0, Kind: store.KindMinus, Epoch: 9}, From: 0, To: 99}, {LedgerID: store.LedgerID{Partition: p0, Kind: store.KindPlus, Epoch: 8}, From: 0, To: 99}}, positions{}, nil)
	// Partitions of others do not matter.
	f([]store.LedgerRow{owner(models.Partition{Topic: "clicks", Number: 7}, 1, 0, 99)}, positions{}, nil)
	// A later epoch counted further, or an earlier one that woke up: this epoch must not go on.
	f([]store.LedgerRow{owner(p0, 5, 0, 10), owner(p0, 6, 10, 20)}, nil, errSuperseded)
	f([]store.LedgerRow{owner(p0, 5, 0, 10), owner(p0, 4, 5, 20)}, nil, errSuperseded)
}

func TestPlan(t *testing.T) {
	epochs := map[models.Partition]int64{p0: 5, p1: 2}
	spans := map[models.Partition]eventlog.Span{p0: {From: 100, To: 110}, p1: {From: 40, To: 50}}
	clicks := func(p models.Partition, offsets ...int64) (out []*eventlog.Counted) {
		for _, o := range offsets {
			out = append(out, &eventlog.Counted{Partition: p, Offset: o, Event: &models.Click{ShortURL: "abc"}, First: []bool{false}})
		}
		return out
	}
	f := func(events []*eventlog.Counted, at positions, wantClicks int64, wantRows ...store.LedgerRow) {
		t.Helper()
		work, all := deltasOf(slices.All(events)), positioncache.NewByNumber(1)
		all.Set(0, at)
		leaveOut(work, slices.All(events), spans, all)
		writes := planWrites(work.All(), spans, all, epochs)
		if len(wantRows) == 0 {
			if len(writes) != 0 {
				t.Errorf("plan = %v, want nothing to write", writes)
			}
			return
		}
		if len(writes) != 1 {
			t.Fatalf("plan = %v, want one write", writes)
		}
		rows := writes[0].Ledger
		slices.SortFunc(rows, func(a, b store.LedgerRow) int { return a.Partition.Number - b.Partition.Number })
		if writes[0].Cells[hit] != wantClicks || !slices.Equal(rows, wantRows) {
			t.Errorf("plan = %v %v, want %d %v", writes[0].Cells, rows, wantClicks, wantRows)
		}
	}
	// A key never seen: the row begins where the chunk does.
	f(clicks(p0, 103, 107), nil, 2, owner(p0, 5, 100, 110))
	// Seen by a predecessor: our first row begins where it ended, or at the chunk.
	f(clicks(p0, 103, 107), positions{reached(p0, 60, 0)}, 2, owner(p0, 5, 100, 110))
	f(clicks(p0, 103, 107), positions{reached(p0, 105, 0)}, 1, owner(p0, 5, 105, 110))
	// Seen by us: the row is extended, over the offsets without the key's events too.
	f(clicks(p0, 103, 107), positions{reached(p0, 60, 5)}, 2, owner(p0, 5, 0, 50))
	f(clicks(p0, 103, 107), positions{reached(p0, 108, 5)}, 0, owner(p0, 5, 0, 2))
	// Seen by us under an earlier epoch, which we renewed because of other keys: its row is extended.
	f(clicks(p0, 103, 107), positions{reached(p0, 60, 4)}, 2, owner(p0, 4, 0, 50))
	// Counted already: nothing to write.
	f(clicks(p0, 103, 107), positions{reached(p0, 110, 5)}, 0)
	f(clicks(p0, 103, 107), positions{reached(p0, 120, 0)}, 0)
	// Several partitions: one write.
	f(append(clicks(p0, 103), clicks(p1, 40, 41, 49)...), positions{reached(p1, 41, 2)}, 3,
		owner(p0, 5, 100, 110), owner(p1, 2, 0, 9))
	f(append(clicks(p0, 103), clicks(p1, 40)...), positions{reached(p1, 50, 2)}, 1, owner(p0, 5, 100, 110))
}
