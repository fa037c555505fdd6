package rollup

import (
	"context"
	"slices"
	"time"

	"footfall/models"
)

// item is one message as a fetcher hands it on: an event, or the reason why it is none.
type item struct {
	partition models.Partition
	offset    int64
	event     models.Event // nil if it cannot be counted
	value     []byte       // of the message, should it turn out that it must not be counted
	dead      *deadLetter  // set if it cannot be counted
	at        time.Time    // the message's time in the log
	bytes     int
	highWater int64
	byID      bool // the topic's duplicates are told by their ids alone
	warm      bool // read for the duplicate window only; an earlier chunk has counted it
}

// chunk is what was fetched since the last flush: a span of offsets per partition, and the events in them.
type chunk struct {
	spans      map[models.Partition]span
	events     []*counted
	dead       []*deadLetter
	buried     bool // the dead letters are written; a flush that is tried again need not do it twice
	bytes      int
	visits     int                        // among the events
	widest     int64                      // of the spans
	last       map[models.Partition]*item // of each span
	decided    int                        // in which era of the visitors; 0: not yet
	added      *deltas                    // what the events are worth, added up ahead; nil: to be done
	trouble    error                      // with deciding them ahead; for whoever counts the chunk
	done       chan struct{}              // closed when it is counted, or given up
	read       map[string]int             // by topic
	duplicates map[string]int             // by topic
}

// span is the offsets [from, to) of one partition.
type span struct{ from, to int64 }

// counted is an event that is no duplicate, where it stands, and which of its sightings it is the first of.
type counted struct {
	partition models.Partition
	offset    int64
	event     models.Event
	first     []bool
}

func newChunk() *chunk {
	return &chunk{
		spans: map[models.Partition]span{}, read: map[string]int{}, duplicates: map[string]int{},
		last: map[models.Partition]*item{}, done: make(chan struct{}),
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
func (o *ownership) collect(stop context.Context, items <-chan item, l limits, idle <-chan struct{}) (*chunk, bool) {
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
func (o *ownership) add(c *chunk, it item) {
	p := o.partitions[it.partition]
	duplicate := false
	if it.event != nil {
		duplicate = p.window.see(fingerprintOf(o.hasher, it.identity()), it.offset, it.at)
	} else {
		p.window.pass(it.offset)
	}
	if it.warm {
		return
	}
	s, ok := c.spans[it.partition]
	if !ok {
		if p.collected == 0 {
			p.collected = p.next // nothing of it is being counted yet
		}
		s.from = p.collected
	}
	s.to = it.offset + 1
	p.collected = s.to
	c.spans[it.partition] = s
	c.widest = max(c.widest, s.to-s.from)
	c.bytes += it.bytes
	if it.event != nil || it.dead != nil {
		c.read[it.partition.Topic]++
	}
	if last := c.last[it.partition]; last != nil {
		*last = it
	} else {
		c.last[it.partition] = &it
	}
	retired := o.board.list()
	switch {
	case it.dead == nil && it.event == nil: // it means nothing, or is counted in the next generation
	case it.dead != nil:
		c.dead = append(c.dead, it.dead)
	case duplicate:
		c.duplicates[it.partition.Topic]++
	case retired.Past(it.partition, it.offset, it.event):
	default:
		if why := retired.Refuse(it.partition, it.offset, it.event); why != nil {
			c.dead = append(c.dead, it.refuse(why))
			return
		}
		c.events = append(c.events, &counted{partition: it.partition, offset: it.offset, event: it.event})
		if _, visit := it.event.(*models.Visit); visit {
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
	first.read, first.duplicates = c.read, c.duplicates
	first.dead, first.buried, second.buried = c.dead, c.buried, true
	first.last, second.last = c.last, c.last
	first.decided, second.decided = c.decided, c.decided
	for p, s := range c.spans {
		at := s.to
		if i := slices.IndexFunc(second.events, func(e *counted) bool { return e.partition == p }); i >= 0 {
			at = second.events[i].offset
		}
		if left := (span{s.from, at}); !left.empty() {
			first.spans[p] = left
		}
		if right := (span{at, s.to}); !right.empty() {
			second.spans[p] = right
		}
	}
	return [2]*chunk{first, second}
}
