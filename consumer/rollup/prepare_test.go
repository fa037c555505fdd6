package rollup

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/rollup/pace"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// line is an owner at work: the test puts items in, and lets each write go on.
type line struct {
	*memstore.Memory
	o         *ownership
	items     chan eventlog.Item
	applies   chan func() memstore.Fault // each decides about one write
	committed []int64
	stop      context.CancelFunc
	ended     chan error
	offset    int64
}

func startLine(t *testing.T, bound ...*pace.Pace) *line {
	t.Helper()
	l := &line{Memory: memstore.New(), items: make(chan eventlog.Item, 1000), applies: make(chan func() memstore.Fault), ended: make(chan error, 1)}
	l.o = newOwner(t, l.Memory, 100)
	if len(bound) > 0 {
		l.o.pace.Within, l.o.pace.Least = bound[0].Within, bound[0].Least
	}
	l.OnApply = func(store.KeyWrite) memstore.Fault {
		l.Mu.Unlock() // others may use the store while this write is under way
		defer l.Mu.Lock()
		return (<-l.applies)()
	}
	stop, cancel := context.WithCancel(t.Context())
	l.stop = cancel
	go func() {
		err := l.o.count(stop, t.Context(), l.items, limits{50, 1 << 20, time.Second}, func(_ context.Context, at map[models.Partition]eventlog.GroupOffset) error {
			l.committed = append(l.committed, at[p0].Offset)
			return nil
		})
		if err == nil {
			err = l.o.release(t.Context())
		}
		l.ended <- err
	}()
	return l
}

// click puts in n clicks of new visitors, and waits until the owner waits.
func (l *line) click(n int) {
	for range n {
		l.items <- eventlog.Item{Partition: p0, Offset: l.offset, HighWater: 10_000, Event: &models.Click{
			V: 1, ID: fmt.Sprint(l.offset), ShortURL: "abc", IP: fmt.Sprint(l.offset), TS: models.Earliest,
		}}
		l.offset++
	}
	synctest.Wait()
}

// later lets time pass, and waits until the owner waits.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (l *line) applied() {
	l.applies <- func() memstore.Fault { return memstore.Fault{} }
	synctest.Wait()
}

func TestVisitorsAreDecidedAheadAndChunksGrowMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLine(t)
		l.click(5)
		later(2 * time.Second) // the first chunk has reached its age, and is being written
		l.click(30)
		later(5 * time.Second) // so has the second, but the first is not counted yet: the second grows
		l.click(20)            // up to its limit of 50; then its visitors are decided
		if l.Lookups != 55 {
			t.Errorf("%d visitors looked up while the first chunk is written, want those of both chunks", l.Lookups)
		}
		l.applied()
		l.applied()
		if fmt.Sprint(l.committed) != "[5 55]" {
			t.Errorf("committed %v, want a chunk of 5 and one of 50", l.committed)
		}
		l.click(1)
		later(2 * time.Second)
		l.applied()
		wantCounts(t, l.Memory, 56, 56)
		l.stop()
		if err := <-l.ended; err != nil {
			t.Error(err)
		}
	})
}

// A chunk has no more events than the pace of the one before makes in Pace.Within.
func TestChunksAreBoundedByTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLine(t, &pace.Pace{Within: 4 * time.Second, Least: 10})
		l.click(5)
		later(2 * time.Second) // the first chunk is being written since a second
		l.click(50)
		if l.Lookups != 5+10 {
			t.Errorf("%d visitors looked up, want those of the first chunk, and 10 while its pace is not known", l.Lookups)
		}
		l.applied() // after a second: 20 in four
		later(2 * time.Second)
		l.applied() // 10 in two seconds: 20 again
		l.applied()
		l.applied()
		if fmt.Sprint(l.committed) != "[5 15 35 55]" {
			t.Errorf("committed %v", l.committed)
		}
		l.stop()
		if err := <-l.ended; err != nil {
			t.Error(err)
		}
	})
}

// A chunk that could be written takes what Kafka has handed over already; if that does not come, it is written all the same.
func TestAChunkTakesWhatIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner(t, memstore.New(), 0)
		o.retirements = eventlog.NewRetirementWatcher(o.store, o.log)
		items, idle := make(chan eventlog.Item), make(chan struct{})
		close(idle)
		send := func(offset, highWater int64) {
			items <- eventlog.Item{Partition: p0, Offset: offset, HighWater: highWater, Event: clickAt(p0, offset, fmt.Sprint(offset))}
		}
		chunks := make(chan *chunk)
		stop, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for more := true; more; {
				var c *chunk
				if c, more = o.collect(stop, t.Context(), items, limits{1000, 1 << 20, time.Second}, idle); len(c.spans) > 0 {
					chunks <- c
				}
			}
		}()
		dryAfter := o.pace.Patience()
		send(0, 3)
		time.Sleep(time.Second + dryAfter/2) // it has reached its age, and there are two more
		send(1, 3)
		time.Sleep(dryAfter / 2)
		send(2, 3)
		begun := time.Now()
		if c := <-chunks; c.spans[p0].To != 3 || time.Since(begun) != 0 {
			t.Errorf("%v after %v, want all three at once", c.spans[p0], time.Since(begun))
		}
		begun = time.Now()
		send(3, 5)
		if c := <-chunks; c.spans[p0].To != 4 || time.Since(begun) != time.Second+dryAfter {
			t.Errorf("%v after %v, want the one that came", c.spans[p0], time.Since(begun))
		}
		o.pace.Counted(1, 10*time.Second) // on a busy machine it waits longer
		begun = time.Now()
		send(4, 6)
		if c := <-chunks; c.spans[p0].To != 5 || time.Since(begun) != time.Second+500*time.Millisecond {
			t.Errorf("%v after %v, want a twentieth of what the last chunk took", c.spans[p0], time.Since(begun))
		}
	})
}

// On stop the chunk that is being written is finished. The chunk ahead is not written; the next owner reads it again.
func TestStopFinishesTheChunkUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLine(t)
		l.click(5)
		later(2 * time.Second)
		l.click(50)
		l.stop()
		synctest.Wait()
		l.applied()
		if err := <-l.ended; err != nil {
			t.Error(err)
		}
		wantCounts(t, l.Memory, 5, 5)
		if fmt.Sprint(l.committed) != "[5]" || l.OwnerRows[p0].Committed != 5 || !l.OwnerRows[p0].Clean {
			t.Errorf("committed %v, owner %+v; want 5 and a clean end", l.committed, l.OwnerRows[p0])
		}
		again := newOwner(t, l.Memory, 0)
		l.OnApply = nil
		again.partitions[p0].next = 5
		ips := make([]string, 50)
		for i := range ips {
			ips[i] = fmt.Sprint(5 + i)
		}
		flush(t, again, chunkOf(again, p0, ips...))
		wantCounts(t, l.Memory, 55, 55) // although the visitors' rows were stored before
	})
}

func TestStopCountsWhatWasCollected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLine(t)
		l.click(5)
		l.stop()
		synctest.Wait()
		l.applied()
		if err := <-l.ended; err != nil {
			t.Error(err)
		}
		wantCounts(t, l.Memory, 5, 5)
	})
}

// After a fault the chunk ahead is decided again, since the fault may have cost rows.
func TestTheChunkAheadIsDecidedAgainAfterAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLine(t)
		l.Timeout = time.Second
		l.click(5)
		later(2 * time.Second)
		l.click(50)
		l.First = map[models.Sighting]models.Position{} // a store that is not durable
		l.applies <- func() memstore.Fault { return memstore.Fault{Err: memstore.Unknown("timeout"), Lost: true} }
		later(10 * time.Second)
		l.applied()
		l.applied()
		wantCounts(t, l.Memory, 55, 55)
		if len(l.First) != 55 {
			t.Errorf("%d visitors in the store, want all 55 again", len(l.First))
		}
		l.stop()
		if err := <-l.ended; err != nil {
			t.Error(err)
		}
	})
}

// A chunk whose visitors are decided again is also summed again.
func TestAChunkDecidedAgainIsSummedAgain(t *testing.T) {
	m := memstore.New()
	o := newOwner(t, m, 100)
	c := chunkOf(o, p0, "a", "b")
	o.lookAhead(t.Context(), c)
	for s := range m.First {
		if s.Visitor == "a" {
			m.First[s] = models.Position{Topic: p0.Topic, Partition: p0.Number, Offset: 9_000} // by another owner meanwhile
		}
	}
	o.visitors.Drop()
	flush(t, o, c)
	wantCounts(t, m, 2, 1)
}

// If deciding visitors ahead fails, the counting goroutine decides them, and the next chunk's visitors wait for that.
func TestVisitorsAreDecidedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLine(t)
		failures := 0
		l.OnRemember = func() error {
			if failures++; failures > 1 {
				return nil
			}
			return errors.New("no connection")
		}
		l.click(50)
		l.click(50)
		later(10 * time.Second)
		if len(l.First) != 50 {
			t.Errorf("%d visitors in the store before the first chunk is counted, want its 50 alone", len(l.First))
		}
		l.applied()
		l.applied()
		wantCounts(t, l.Memory, 100, 100)
		l.stop()
		if err := <-l.ended; err != nil {
			t.Error(err)
		}
	})
}

// A connection is lost while rows are stored beside the rest. The store was restarted and has lost rows of the same chunk: all are stored again.
func TestRowsAreStoredAgainAfterALostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		o := newOwner(t, m, 100)
		remembers := 0
		m.OnRemember = func() error {
			if remembers++; remembers == 2 {
				clear(m.First)
				return fmt.Errorf("%w: reset", store.ErrDisconnected)
			}
			return nil
		}
		c := newChunk(false)
		for i := range int64(4) {
			o.add(c, eventlog.Item{Partition: p0, Offset: i, Event: clickAt(p0, i, fmt.Sprint(i))})
			if c.trouble == nil {
				o.sumAhead(t.Context(), c)
			}
			synctest.Wait()
		}
		if c.trouble == nil {
			o.lookAhead(t.Context(), c)
		}
		flush(t, o, c)
		again := newOwner(t, m, 0)
		again.partitions[p0].next = 4
		flush(t, again, chunkOf(again, p0, "0", "1", "2", "3"))
		wantCounts(t, m, 8, 4)
	})
}
