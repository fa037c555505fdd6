package rollup

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/internal/retry"
	"footfall/models"
)

// growing is a log that a producer appends to. Its times are those of its messages.
type growing struct {
	mu    sync.Mutex
	times []time.Time
}

func (g *growing) append() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.times = append(g.times, time.Now())
}

func (g *growing) end() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return int64(len(g.times))
}

func (g *growing) at(offset int64) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.times[offset]
}

// by is how many messages were in the log by a moment.
func (g *growing) by(moment time.Time) (n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, at := range g.times {
		if !at.After(moment) {
			n++
		}
	}
	return n
}

// overloaded is a store that takes its time for a note: often more than a note may take. It looks at what each note that is stored says.
type overloaded struct {
	*memstore.Memory
	t              *testing.T
	log            *growing
	calls          int
	stored, missed int
}

func (s *overloaded) NoteProgress(ctx context.Context, rows []store.Progress) error {
	s.calls++
	if err := retry.Sleep(ctx, time.Duration(s.calls%4)*noteTimeout*2/5); err != nil {
		s.missed++
		return err
	}
	s.stored++
	s.Mu.Lock()
	counted := clicksIn(s.Memory)
	s.Mu.Unlock()
	row := rows[0]
	if row.Counted > counted {
		s.t.Errorf("%d messages are said to be counted, %d are", row.Counted, counted)
	}
	said := row.EventTime
	if row.Counted == row.LogEnd {
		said = row.At
	}
	if n := s.log.by(said); n > counted {
		s.t.Errorf("everything by %v is said to be counted: %d of %d messages are (%+v)", said, counted, n, row)
	}
	return s.Memory.NoteProgress(ctx, rows)
}

// However late notes are stored, and however many are given up, none says more than is counted.
func TestProgressNeverSaysMoreThanIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &growing{}
		s := &overloaded{Memory: memstore.New(), t: t, log: log}
		o := newOwner(t, s.Memory, 100)
		delete(o.partitions, p1)
		o.store = s
		o.bounds = func(ctx context.Context, _ []models.Partition) (map[models.Partition]eventlog.Span, error) {
			end := log.end()
			return map[models.Partition]eventlog.Span{p0: {To: end}}, retry.Sleep(ctx, 300*time.Millisecond) // Kafka is slow, too
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for i := 0; retry.Sleep(ctx, time.Duration(1+i*7919%97)*10*time.Millisecond) == nil; i++ {
				log.append()
			}
		}()
		go o.watchLag(ctx)
		for i := range 60 { // now fast, now slow
			time.Sleep(time.Duration(1+i%5) * 400 * time.Millisecond)
			c := newChunk(false)
			for offset, end := o.partitions[p0].next, log.end(); offset < end; offset++ {
				o.add(c, eventlog.Item{Partition: p0, Offset: offset, Event: clickAt(p0, offset, "a"), At: log.at(offset)})
			}
			time.Sleep(time.Duration(i%7) * 200 * time.Millisecond) // before it is written, the log grows
			if err := o.countChunk(t.Context(), c, func(context.Context, map[models.Partition]eventlog.GroupOffset) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if s.stored < 10 || s.missed < 5 {
			t.Errorf("%d notes stored and %d given up: too few to show anything", s.stored, s.missed)
		}
		t.Logf("%d messages; %d notes stored, %d given up", log.end(), s.stored, s.missed)
	})
}
