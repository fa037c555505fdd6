package rollup

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/rollup/positioncache"
	"footfall/consumer/store/memstore"
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
		at := positioncache.NewByNumber(work.Keys()) // as a load finds them
		for i := range work.Keys() {
			at.Set(i, make(positions, 2))
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
	f("clicks on links with some dozens of cells", 30_000, func(i int) models.Event {
		c := click(i%2000, i).(*models.Click)
		c.Country, c.Referrer = fmt.Sprintf("A%c", 'A'+i/2000), fmt.Sprint(i/2000)
		return c
	})
	f("clicks of as many referrers", 40_000, func(i int) models.Event {
		c := click(1, i).(*models.Click)
		c.Referrer = fmt.Sprintf("https://%d.example.com", i)
		return c
	})
	f("clicks on one link", 40_000, func(i int) models.Event { return click(1, i) })
	f("visits", 15_000, func(i int) models.Event { return visit(i*i%1999, i) })
	f("visits with long features", 4000, func(i int) models.Event {
		v := visit(1, i).(*models.Visit)
		v.Features = []string{fmt.Sprintf("%0500d", i), fmt.Sprintf("%0500d", -i)}
		return v
	})
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

// A chunk is decided in large parts, but in smaller ones when it may soon be full: a click on a link of its own adds much more than it takes.
func TestAChunkStaysWithinItsMemory(t *testing.T) {
	const most = 16 << 20
	m := memstore.New()
	o := newOwner(t, m, 0)
	o.retirements = eventlog.NewRetirementWatcher(m, o.log)
	items, decided := make(chan eventlog.Item), []int{}
	stop, cancel := context.WithCancel(t.Context())
	defer cancel()
	m.OnRemember = func() error {
		decided = append(decided, m.Lookups)
		return nil
	}
	go func() {
		for at := range int64(200_000) {
			select {
			case items <- eventlog.Item{Partition: p0, Offset: at, Event: &models.Click{V: 1, ID: fmt.Sprint(at), ShortURL: fmt.Sprint(at), IP: fmt.Sprint(at), TS: models.Earliest}}:
			case <-stop.Done():
				return
			}
		}
	}()
	o.maxSpan = 1 << 40
	c, _ := o.collect(stop, stop, items, limits{200_000, most, time.Minute}, nil)
	cancel()
	if err := o.visitors.Wait(); err != nil {
		t.Error(err)
	}
	if c.bytes() < most || c.bytes() > most*5/4 {
		t.Errorf("a chunk of %d events takes %d bytes, want %d and a quarter more at the most", c.events.Len(), c.bytes(), most)
	}
	if n := len(decided); n < 2 || n > 4 || decided[0] > costAtOnce/3/4+1 {
		t.Errorf("decided after %v events, want a few parts, the first a quarter of what may be decided at once", decided)
	}
}
