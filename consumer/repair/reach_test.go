package repair

import (
	"context"
	"fmt"
	"testing"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// oneEarly is a log of clicks: the first is on link "early", the others on link "busy".
type oneEarly int64

func (l oneEarly) Read(_ context.Context, p models.Partition, s eventlog.Span, _ eventlog.Reach, each func(eventlog.Item)) (eventlog.Reading, error) {
	got := eventlog.Reading{Span: eventlog.Span{From: s.From, To: min(s.To, int64(l))}, Whole: true}
	for offset := got.From; offset < got.To; offset++ {
		link := "busy"
		if offset == 0 {
			link = "early"
		}
		each(eventlog.Item{Partition: p, Offset: offset, Event: &models.Click{ShortURL: link, IP: fmt.Sprint(offset), ID: fmt.Sprint(offset), TS: models.Earliest}})
	}
	return got, nil
}

// A zombie counted a chunk that its successor counted, too: each key of the chunk has two rows up to the end of the chunk. A check of the chunk repairs all of both.
func TestARepairLeavesNothingOff(t *testing.T) {
	const clicks = 40
	for _, c := range []struct{ bytes, from int }{{0, 0}, {20_000, 0}, {20_000, 30}} { // from: where the second row of the first link begins
		m := memstore.New()
		early, busy := models.Key{Keyspace: models.URLShortener, Name: "early"}, models.Key{Keyspace: models.URLShortener, Name: "busy"}
		m.ApplyOne(store.KeyWrite{Key: early, Ledger: []store.LedgerRow{owner(p0, 1, 0, clicks), owner(p0, 2, int64(c.from), clicks)}})
		m.ApplyOne(store.KeyWrite{Key: busy, Ledger: []store.LedgerRow{owner(p0, 1, 0, clicks), owner(p0, 2, 0, clicks)}})
		checker := testChecker(m, oneEarly(clicks))
		checker.Bytes = c.bytes
		for range 3 {
			if _, err := checker.Check(t.Context(), p0, eventlog.Span{To: clicks}, nil, func() error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		for _, key := range []models.Key{early, busy} {
			if off := Excesses(memstore.SortedRows(m.LedgerRows[key]), p0); len(off) > 0 {
				t.Errorf("%+v: after three checks %s is off at %v: audits say so, and consumer retire refuses", c, key.Name, off)
			}
		}
	}
}

// The same, of a doubt that lies across a multiple of 50,000: Pieces cuts it there, however small it is.
func TestTwoDoubtsOfOneChunkLeaveNothingOff(t *testing.T) {
	m := memstore.New()
	early := models.Key{Keyspace: models.URLShortener, Name: "early"}
	m.ApplyOne(store.KeyWrite{Key: early, Ledger: []store.LedgerRow{owner(p0, 1, 0, maxCheck+10), owner(p0, 2, 0, maxCheck+10)}})
	c := testChecker(m, oneEarly(maxCheck+10))
	c.Bytes = 1 << 40
	for _, s := range Pieces(eventlog.Span{To: maxCheck + 10}) {
		if _, err := c.Check(t.Context(), p0, s, nil, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if off := Excesses(memstore.SortedRows(m.LedgerRows[early]), p0); len(off) > 0 {
		t.Errorf("off at %v", off)
	}
}
