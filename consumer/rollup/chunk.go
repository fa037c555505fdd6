package rollup

import (
	"context"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/rollup/meter"
	"footfall/consumer/rollup/packed"
	"footfall/consumer/store"
	"footfall/models"
)

// chunk is what was fetched since the last flush: a span of offsets per partition, and the events in them.
type chunk struct {
	spans       map[models.Partition]eventlog.Span
	events      *packed.Events
	dead        []*eventlog.DeadLetter
	deadWritten bool                           // the dead letters are written: a retry need not write them again
	deadBytes   int                            // of the dead letters
	widest      int64                          // offsets in the longest span
	begun       time.Time                      // when it got its first item
	last        map[models.Partition]*lastItem // of each span
	decided     int                            // the visitors' era in which first sights were decided; 0: not yet
	added       *deltas                        // what the events add, summed ahead; nil: not yet
	trouble     error                          // why deciding ahead failed, for the goroutine that counts the chunk
	done        chan struct{}                  // closed when it is counted, or given up
	read        map[string]int                 // by topic
	duplicates  map[string]int                 // by topic
	retired     map[string]int                 // by topic: counted before a retirement, read again and left out
	half        bool                           // of a chunk that was split: only whole chunks are committed
}

// lastItem is the last item of a span, and when all its messages were written.
type lastItem struct {
	eventlog.Item
	tail    store.Tail  // of the item, which is let go when the chunk is collected
	written meter.Times // of events and dead letters
}

// newChunk makes an empty chunk. Its events keep their IDs only if latest clicks are stored: nothing else needs them any more.
func newChunk(ids bool) *chunk {
	return &chunk{
		events: packed.New(ids),
		spans:  map[models.Partition]eventlog.Span{}, read: map[string]int{}, duplicates: map[string]int{}, retired: map[string]int{},
		last: map[models.Partition]*lastItem{}, done: make(chan struct{}),
	}
}

func (o *ownership) newChunk() *chunk { return newChunk(o.latest != nil) }

// limits end a chunk: the first one that is reached.
type limits struct {
	events int
	bytes  int // of memory: its events and what they add
	age    time.Duration
}

// bytesPerDead is about what a dead letter takes besides its message.
const bytesPerDead = 400

// bytes is about the memory that the chunk takes, as far as its events are summed.
func (c *chunk) bytes() int {
	n := c.events.Bytes() + c.deadBytes
	if c.added != nil {
		n += c.added.Bytes()
	}
	return n
}

// full tells whether a chunk has reached a limit.
func (o *ownership) full(c *chunk, l limits) bool {
	return c.events.Len() >= min(l.events, o.pace.Limit()) || c.bytes() >= l.bytes || c.widest >= o.maxSpan
}

// collect fills a chunk from items until a limit is reached, or until stop ends: then it returns false. For the first item it
// waits as long as it takes. A chunk that has reached its age is returned once idle is closed, that is when the chunk before it
// is counted. Until then it grows: an event in a larger chunk costs less. Then it also takes what Kafka has handed over already: deciding
// takes time, in which a backlog builds up. collect decides and sums the events in parts, so that it knows how much memory the sums take.
func (o *ownership) collect(stop, work context.Context, items <-chan eventlog.Item, l limits, idle <-chan struct{}) (*chunk, bool) {
	c, more := o.gather(stop, work, items, l, idle)
	for _, last := range c.last {
		last.tail = last.Tail()
		last.Event, last.Value, last.Dead = nil, nil, nil
	}
	return c, more
}

func (o *ownership) gather(stop, work context.Context, items <-chan eventlog.Item, l limits, idle <-chan struct{}) (*chunk, bool) {
	c := o.newChunk()
	var expired <-chan time.Time
	var waits <-chan struct{} // nil until the chunk has reached its age
	var dry <-chan time.Time  // nil unless the chunk could be returned, and waits for what is on its way
	var late <-chan time.Time // nil until the chunk could be returned for the first time
	more := false             // there were further events in the partition when the last one was fetched
	for decided := 0; c.trouble == nil && !o.full(c, l); {
		select {
		case <-stop.Done():
			return c, false
		case <-expired:
			waits = idle
		case <-waits:
			if len(items) == 0 && !more {
				return c, true
			}
			if waits, dry = nil, time.After(o.pace.Patience()); late == nil {
				late = time.After(lateAfter)
			}
		case <-dry:
			return c, true
		case <-late: // deciding takes long, and nothing is written meanwhile
			return c, true
		case it := <-items:
			if dry != nil {
				waits, dry = idle, nil
			}
			o.add(c, it)
			o.fetched.Give(it.Bytes)
			more = it.HighWater > it.Offset+1
			if o.enough(c, decided, l) {
				o.sumAhead(work, c)
				decided = c.events.Cost()
			}
			if expired == nil && len(c.spans) > 0 {
				expired, c.begun = time.After(l.age), time.Now()
			}
		}
	}
	return c, true
}

// enough tells whether the events that came since so much cost was decided are to be decided and summed: as many as may be at once, or fewer
// if the chunk may be full with them. What is summed tells what they will add, so the first ones are few.
func (o *ownership) enough(c *chunk, decided int, l limits) bool {
	waiting := c.events.Cost() - decided
	if waiting < o.costAtOnce/4 {
		return false
	}
	if waiting >= o.costAtOnce || decided == 0 || c.added == nil {
		return true
	}
	return c.bytes()+c.added.Bytes()*waiting/decided >= l.bytes
}

// lateAfter bounds how long a chunk that could be returned goes on to collect: nothing is written meanwhile.
const lateAfter = 10 * time.Second

// add puts an item into the chunk and into its partition's duplicate window.
func (o *ownership) add(c *chunk, it eventlog.Item) {
	p := o.partitions[it.Partition]
	duplicate := false
	if it.Event != nil {
		duplicate = p.window.See(eventlog.FingerprintOf(o.hasher, it.Event.Identity()), it.Offset, it.At)
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
		p.waiting.Collects(it.At)
	}
	s.To = it.Offset + 1
	p.collected = s.To
	c.spans[it.Partition] = s
	c.widest = max(c.widest, s.To-s.From)
	last := c.last[it.Partition]
	if last == nil {
		last = &lastItem{}
		c.last[it.Partition] = last
	}
	last.Item = it
	if it.Event != nil || it.Dead != nil {
		c.read[it.Partition.Topic]++
		last.written.Add(it.At)
	}
	retired := o.retirements.List()
	switch {
	case it.Dead == nil && it.Event == nil: // no event, or one that is counted in the next generation
	case it.Dead != nil:
		c.bury(it.Dead, it.Bytes)
	case duplicate:
		c.duplicates[it.Partition.Topic]++
	case retired.Past(it.Partition, it.Offset, it.Event):
		c.retired[it.Partition.Topic]++
	default:
		if why := retired.Refuse(it.Partition, it.Offset, it.Event); why != nil {
			c.bury(it.DeadBecause(why), it.Bytes)
			return
		}
		c.events.Add(it.Partition, it.Offset, it.Event)
	}
}

// outcomes has how many events there were, by outcome and topic.
func (c *chunk) outcomes() map[string]map[string]int {
	invalid := map[string]int{}
	for _, l := range c.dead {
		invalid[l.Message.Topic]++
	}
	return map[string]map[string]int{
		"read": c.read, "applied": c.events.Topics(), "duplicate": c.duplicates, "invalid": invalid, "retired": c.retired,
	}
}

// bury adds a dead letter.
func (c *chunk) bury(letter *eventlog.DeadLetter, bytes int) {
	c.dead = append(c.dead, letter)
	c.deadBytes += bytesPerDead + bytes
}

// decidedIn notes the visitors' era in which all events are decided. Sums of another era are void.
func (c *chunk) decidedIn(era int) {
	if era != c.decided {
		c.decided, c.added = era, nil
	}
}

// sum adds up the events that are not summed yet. All must be decided.
func (c *chunk) sum() {
	if c.added == nil {
		added := deltasOf(c.events.All())
		c.added = &added
	} else if c.added.Events() < c.events.Len() {
		c.added.Add(c.events.After(c.added.Events()).All())
		c.added.listed = false
	}
}

// takeDeltas returns what the events add. The caller may change it: the next call sums anew.
func (c *chunk) takeDeltas() deltas {
	c.sum()
	added := *c.added
	c.added = nil
	return added
}

// halves splits a chunk in the middle of its events. Each partition's span is cut before the first event of the second half.
func (c *chunk) halves() [2]*chunk {
	first, second := newChunk(false), newChunk(false)
	first.half, second.half = true, true
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
