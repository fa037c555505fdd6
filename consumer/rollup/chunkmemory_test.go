package rollup

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"footfall/consumer/eventlog"
	"footfall/models"
)

// A chunk is bounded by the memory that it takes: what bytes says must be about the truth, whatever the events are.
func TestAChunkKnowsItsMemory(t *testing.T) {
	start := models.Millis(time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).UnixMilli())
	f := func(name string, n int, event func(i int) models.Event) {
		t.Helper()
		before := heap()
		c := newChunk(false)
		for i := range n {
			p := models.Partition{Topic: "t", Number: i % 6}
			c.spans[p] = eventlog.Span{From: 0, To: int64(i) + 1}
			c.events.Add(p, int64(i), event(i))
			if i%10_000 == 9_999 || i == n-1 {
				c.events.After(c.events.Decided()).Decide(func(_ int, e *eventlog.Counted, _ []bool) []bool {
					return slices.Repeat([]bool{i < n/2}, len(e.Event.Sightings()))
				})
				c.sum()
			}
		}
		says := c.bytes()
		work := c.takeDeltas()
		at := make(map[models.Key]positions, work.Keys())
		for key := range work.All() {
			at[key] = make(positions, 2)
		}
		is := heap() - before
		t.Logf("%s: %d keys, %d bytes an event, bytes says %d", name, work.Keys(), is/n, says/n)
		if says < is*2/3 || says > is*3/2 {
			t.Errorf("%s: %d bytes an event; bytes says %d", name, is/n, says/n)
		}
		runtime.KeepAlive(work)
		runtime.KeepAlive(at)
		runtime.KeepAlive(c)
	}
	click := func(link, i int) models.Event {
		return &models.Click{
			ShortURL: fmt.Sprintf("l%06d", link), IP: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), TS: start + models.Millis(i*100),
			Country: fmt.Sprintf("%c%c", 'A'+i%7, 'A'+i%5), Referrer: fmt.Sprint("https://", i*i%11, ".example.com"),
		}
	}
	visit := func(site, i int) models.Event {
		return &models.Visit{
			SiteID: fmt.Sprintf("site%03d", site), GUID: fmt.Sprintf("%036d", i), TS: start + models.Millis(i*100),
			Features: []string{fmt.Sprint(i*i%8, ".example.com"), fmt.Sprint("/page", i%50)},
		}
	}
	f("a link for each click", 10_000, func(i int) models.Event { return click(i, i) })
	f("clicks", 40_000, func(i int) models.Event { return click(i*i%3989, i) })
	f("clicks on one link", 40_000, func(i int) models.Event { return click(1, i) })
	f("visits", 15_000, func(i int) models.Event { return visit(i*i%1999, i) })
	f("visits of one site", 40_000, func(i int) models.Event { return visit(1, i) })
}

// heap is how many bytes are in use.
func heap() int {
	runtime.GC()
	runtime.GC() // pools are freed by the second one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
