package rollup

import (
	"testing"

	"footfall/consumer/eventlog"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// A consumer that gets a partition back does not know what another has seen in it meanwhile: a row that it remembers may lack that.
func TestWhoGetsAPartitionBackReadsRowsAgain(t *testing.T) {
	m := memstore.New()
	first, second := newOwner(t, m, 100), newOwner(t, m, 100)
	offset := int64(0)
	visit := func(o *ownership, page string) {
		t.Helper()
		if err := o.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.partitions[p0].next, o.partitions[p0].collected = offset, offset
		c := newChunk(false)
		o.add(c, eventlog.Item{Partition: p0, Offset: offset, HighWater: 100, Event: &models.Visit{
			V: 1, ID: page, SiteID: "site", GUID: "g", TS: models.Earliest, Features: []string{"", page},
		}})
		offset++
		flush(t, o, c)
		if err := o.release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	visit(first, "/a")
	visit(second, "/b")
	visit(first, "/b")
	key := models.Key{Keyspace: models.Cardinality, Name: "site", Month: models.Earliest.Month(), Features: models.NewFeatures("", "/b")}
	if got := m.Counters[key][models.Cell{Counter: models.MonthUnique, At: models.Earliest.Month()}]; got != 1 {
		t.Errorf("one visitor of a page is counted %d times", got)
	}
}
