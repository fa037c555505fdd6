package rollup

import (
	"context"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/rollup/packed"
	"footfall/models"
)

// chunk is what was fetched since the last flush: a span of offsets per partition, and the events in them.
type chunk struct {
	spans       map[models.Partition]eventlog.Span
	events      *packed.Events
	dead        []*eventlog.DeadLetter
	deadWritten bool // the dead letters are written: a retry need not write them again
	bytes       int
	visits      int                                 // among the events
	widest      int64                               // offsets in the longest span
	last        map[models.Partition]*eventlog.Item // the last item of each span
	decided     int                                 // the visitors' era in which first sights were decided; 0: not yet
	added       *deltas                             // what the events add, summed ahead; nil: not yet
	trouble     error                               // why deciding ahead failed, for the goroutine that counts the chunk
	done        chan struct{}                       // closed when it is counted, or given up
	read        map[string]int                      // by topic
	duplicates  map[string]int                      // by topic
	retired     map[string]int                      // by topic: counted before a retirement, read again and left out
}

// newChunk makes an empty chunk. Its events keep their IDs only if latest clicks are stored: nothing else needs them any more.
func newChunk(ids bool) *chunk {
	return &chunk{
		events: packed.New(ids),
		spans:  map[models.Partition]eventlog.Span{}, read: map[string]int{}, duplicates: map[string]int{}, retired: map[string]int{},
		last: map[models.Partition]*eventlog.Item{}, done: make(chan struct{}),
	}
}

func (o *ownership) newChunk() *chunk { return newChunk(o.latest != nil) }

// limits end a chunk: the first one that is reached.
type limits struct {
	events int
	visits int // of the events
	bytes  int
	age    time.Duration
}

// collect fills a chunk from items until a limit is reached, or until stop ends: then it returns false. For the first item it
// waits as long as it takes. A chunk that has reached its age is returned once idle is closed, that is when the chunk before it
// is counted. Until then it grows: an event in a larger chunk costs less.
func (o *ownership) collect(stop context.Context, items <-chan eventlog.Item, l limits, idle <-chan struct{}) (*chunk, bool) {
	c := o.newChunk()
	var expired <-chan time.Time
	var waits <-chan struct{} // nil until the chunk has reached its age
	for c.events.Len() < l.events && c.visits < l.visits && c.bytes < l.bytes && c.widest < o.maxSpan {
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
			p.collected = p.next // its first chunk
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
	case it.Dead == nil && it.Event == nil: // no event, or one that is counted in the next generation
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
		c.events.Add(it.Partition, it.Offset, it.Event)
		if _, visit := it.Event.(*models.Visit); visit {
			c.visits++
		}
	}
}

// takeDeltas returns what the events add. The caller may change it: the next call sums anew.
func (c *chunk) takeDeltas() deltas {
	added := c.added
	c.added = nil
	if added == nil {
		return deltasOf(c.events.All())
	}
	return *added
}

// halves splits a chunk in the middle of its events. Each partition's span is cut before the first event of the second half.
func (c *chunk) halves() [2]*chunk {
	first, second := newChunk(false), newChunk(false)
	middle := c.events.Len() / 2
	first.events = c.events.Select(func(i int, _ *eventlog.Counted) bool { return i < middle })
	second.events = c.events.Select(func(i int, _ *eventlog.Counted) bool { return i >= middle })
	cut := map[models.Partition]int64{} // the first event of the second half
	for _, e := range second.events.All() {
		if _, found := cut[e.Partition]; !found {
			cut[e.Partition] = e.Offset
		}
	}
	first.read, first.duplicates, first.retired = c.read, c.duplicates, c.retired
	first.dead, first.deadWritten, second.deadWritten = c.dead, c.deadWritten, true
	first.last, second.last = c.last, c.last
	first.decided, second.decided = c.decided, c.decided
	for p, s := range c.spans {
		at, found := cut[p]
		if !found {
			at = s.To
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
