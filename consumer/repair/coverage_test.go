package repair

import (
	"slices"
	"testing"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/models"
)

func TestExcesses(t *testing.T) {
	plus := func(n, from, to int64) store.LedgerRow {
		return store.LedgerRow{LedgerID: store.LedgerID{Partition: p0, Kind: store.KindPlus, Epoch: n}, From: from, To: to}
	}
	minus := func(n, from, to int64) store.LedgerRow {
		return store.LedgerRow{LedgerID: store.LedgerID{Partition: p0, Kind: store.KindMinus, Epoch: n}, From: from, To: to}
	}
	f := func(rows []store.LedgerRow, want ...Excess) {
		t.Helper()
		if got := Excesses(rows, p0); !slices.Equal(got, want) {
			t.Errorf("excesses(%v) = %v, want %v", rows, got, want)
		}
	}
	f(nil)
	f([]store.LedgerRow{owner(p0, 1, 0, 10)})
	// One after the other, with or without a gap.
	f([]store.LedgerRow{owner(p0, 1, 0, 10), owner(p0, 2, 10, 20), owner(p0, 3, 25, 30)})
	// Another partition does not matter.
	f([]store.LedgerRow{owner(p0, 1, 0, 10), owner(p1, 1, 0, 10)})
	// A zombie counted what its successor counted.
	f([]store.LedgerRow{owner(p0, 1, 0, 15), owner(p0, 2, 10, 20)}, Excess{eventlog.Span{From: 10, To: 15}, 1})
	f([]store.LedgerRow{owner(p0, 1, 0, 15), owner(p0, 2, 10, 20), owner(p0, 3, 12, 30)},
		Excess{eventlog.Span{From: 10, To: 12}, 1}, Excess{eventlog.Span{From: 12, To: 15}, 2}, Excess{eventlog.Span{From: 15, To: 20}, 1})
	// Repaired.
	f([]store.LedgerRow{owner(p0, 1, 0, 15), owner(p0, 2, 10, 20), minus(7, 10, 15)})
	// Repaired twice, and that repaired.
	f([]store.LedgerRow{owner(p0, 1, 0, 15), owner(p0, 2, 10, 20), minus(7, 10, 15), minus(8, 10, 15)}, Excess{eventlog.Span{From: 10, To: 15}, -1})
	f([]store.LedgerRow{owner(p0, 1, 0, 15), owner(p0, 2, 10, 20), minus(7, 10, 15), minus(8, 10, 15), plus(9, 10, 15)})
	// A repair where no owner is.
	f([]store.LedgerRow{minus(7, 10, 15)}, Excess{eventlog.Span{From: 10, To: 15}, -1})
	f([]store.LedgerRow{owner(p0, 1, 0, 10), plus(7, 5, 15)}, Excess{eventlog.Span{From: 5, To: 15}, 1})
}

var (
	p0 = models.Partition{Topic: "clicks", Number: 0}
	p1 = models.Partition{Topic: "clicks", Number: 1}
)

func owner(p models.Partition, epoch, from, to int64) store.LedgerRow {
	return store.LedgerRow{LedgerID: store.LedgerID{Partition: p, Kind: store.KindOwner, Epoch: epoch}, From: from, To: to}
}
