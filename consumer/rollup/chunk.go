package rollup

import (
	"context"
	"slices"
	"time"

	"footfall/consumer/eventlog"
	"footfall/models"
)

// chunk is what was fetched since the last flush: a span of offsets per partition, and the events in them.
type chunk struct {
	spans       map[models.Partition]eventlog.Span
	events      []*eventlog.Counted
	dead        []*eventlog.DeadLetter
	deadWritten bool // the dead letters are written; a flush that is tried again need not do it twice
	bytes       int
	visits      int                                 // among the events
	widest      int64                               // of the spans
	last        map[models.Partition]*eventlog.Item // of each span
	decided     int                                 // in which era of the visitors; 0: not yet
	added       *deltas                             // what the events are worth, added up ahead; nil: to be done
	trouble     error                               // with deciding them ahead; for whoever counts the chunk
	done        chan struct{}                       // closed when it is counted, or given up
	read        map[string]int                      // by topic
	duplicates  map[string]int                      // by topic
	retired     map[string]int                      // by topic: counted before a retirement, and left out when they come by again
}

func newChunk() *chunk {
	return &chunk{
		spans: map[models.Partition]eventlog.Span{}, read: map[string]int{}, duplicates: map[string]int{}, retired: map[string]int{},
		last: map[models.Partition]*eventlog.Item{}, done: make(chan struct{}),
	}
}

// limits say when a chunk is flushed, whichever comes first.
type limits struct {
	events int
	visits int // of the events
	bytes  int
	age    time.Duration
}

// collect fills a chunk from items until a limit is reached or stop ends, which it reports with false. It waits without
// limit for the first item. A chunk that is old enough is handed on when idle is closed, that is when the one before it is
// counted; until then it grows: the larger a chunk, the less an event costs, so that work under way makes room for more.
func (o *ownership) collect(stop context.Context, items <-chan eventlog.Item, l limits, idle <-chan struct{}) (*chunk, bool) {
	c := newChunk()
	var expired <-chan time.Time
	var waits <-chan struct{} // nil until the chunk is old enough
	for len(c.events) < l.events && c.visits < l.visits && c.bytes < l.bytes && c.widest < o.maxSpan {
		select {
		case <-stop.Done():
			return c, false
		case <-expired:
			waits = idle
		case <-waits:
			return c, true
		case it := <-items:
			o.add(c, it)
			if expired == nil && len(c.spans) > 0 {
				expired = time.After(l.age)
			}
		}
	}
	return c, true
}

// add puts an item into the chunk and into its partition's duplicate window.
func (o *ownership) add(c *chunk, it eventlog.Item) {
	p := o.partitions[it.Partition]
	duplicate := false
	if it.Event != nil {
		duplicate = p.window.See(eventlog.FingerprintOf(o.hasher, it.Identity()), it.Offset, it.At)
	} else {
		p.window.Pass(it.Offset)
	}
	if it.Warm {
		return
	}
	s, ok := c.spans[it.Partition]
	if !ok {
		if p.collected == 0 {
			p.collected = p.next // nothing of it is being counted yet
		}
		s.From = p.collected
	}
	s.To = it.Offset + 1
	p.collected = s.To
	c.spans[it.Partition] = s
	c.widest = max(c.widest, s.To-s.From)
	c.bytes += it.Bytes
	if it.Event != nil || it.Dead != nil {
		c.read[it.Partition.Topic]++
	}
	if last := c.last[it.Partition]; last != nil {
		*last = it
	} else {
		c.last[it.Partition] = &it
	}
	retired := o.retirements.List()
	switch {
	case it.Dead == nil && it.Event == nil: // it means nothing, or is counted in the next generation
	case it.Dead != nil:
		c.dead = append(c.dead, it.Dead)
	case duplicate:
		c.duplicates[it.Partition.Topic]++
	case retired.Past(it.Partition, it.Offset, it.Event):
		c.retired[it.Partition.Topic]++
	default:
		if why := retired.Refuse(it.Partition, it.Offset, it.Event); why != nil {
			c.dead = append(c.dead, it.DeadBecause(why))
			return
		}
		c.events = append(c.events, &eventlog.Counted{Partition: it.Partition, Offset: it.Offset, Event: it.Event})
		if _, visit := it.Event.(*models.Visit); visit {
			c.visits++
		}
	}
}

// takeDeltas is what the events are worth. Whoever takes it may change it: the next one gets it anew.
func (c *chunk) takeDeltas() deltas {
	added := c.added
	c.added = nil
	if added == nil {
		return deltasOf(c.events)
	}
	return *added
}

// halves splits a chunk by its events. Each half has the offsets up to its last event, the second one also those behind.
func (c *chunk) halves() [2]*chunk {
	first, second := newChunk(), newChunk()
	middle := len(c.events) / 2
	first.events, second.events = c.events[:middle], c.events[middle:]
	first.read, first.duplicates, first.retired = c.read, c.duplicates, c.retired
	first.dead, first.deadWritten, second.deadWritten = c.dead, c.deadWritten, true
	first.last, second.last = c.last, c.last
	first.decided, second.decided = c.decided, c.decided
	for p, s := range c.spans {
		at := s.To
		if i := slices.IndexFunc(second.events, func(e *eventlog.Counted) bool { return e.Partition == p }); i >= 0 {
			at = second.events[i].Offset
		}
		if left := (eventlog.Span{From: s.From, To: at}); !left.Empty() {
			first.spans[p] = left
		}
		if right := (eventlog.Span{From: at, To: s.To}); !right.Empty() {
			second.spans[p] = right
		}
	}
	return [2]*chunk{first, second}
}
