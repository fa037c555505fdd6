// Package packed keeps the events of a chunk in little memory: about 40 bytes each instead of 500, and no pointers for the garbage collector
// to follow. So a chunk can be large.
package packed

import (
	"iter"

	"footfall/consumer/eventlog"
	"footfall/models"
)

// Events is a list of events with their positions, in the order in which they were added. An event has all its fields but Click.UA, which
// nothing counts, and its ID only if New was told to keep IDs. Not safe for concurrent use.
type Events struct {
	blocks []*block
	shared *shared
	n      int
	cost   int // see Cost
	bytes  int // of the blocks
	topics map[string]int
}

// shared is what events have in common. Parts of a list share it.
type shared struct {
	ids        bool
	texts      table
	agents     agents
	partitions []models.Partition
	plans      []*models.Plan
}

// New makes an empty list. Only if ids, events keep their IDs.
func New(ids bool) *Events {
	return &Events{topics: map[string]int{}, shared: &shared{ids: ids, texts: newTable(), agents: agents{numbers: map[models.Agent]uint32{}}}}
}

// Len is the number of events.
func (e *Events) Len() int { return e.n }

// Cost is about what deciding the events takes in memory: of a visit as many as it has sightings at the most, which is three
// times the keys that it adds to, and of any other event three.
func (e *Events) Cost() int { return e.cost }

func costOf(event models.Event) int {
	if v, ok := event.(*models.Visit); ok {
		return 3 << len(v.Features)
	}
	return 3
}

// Topics is how many events each topic has. The caller must not change it.
func (e *Events) Topics() map[string]int { return e.topics }

// Bytes is about the memory that the events take.
func (e *Events) Bytes() int { return e.bytes + e.shared.texts.bytes + e.shared.agents.bytes }

// Add adds an event. It keeps a copy, and nothing of the event itself.
func (e *Events) Add(p models.Partition, offset int64, event models.Event) {
	if last := len(e.blocks) - 1; last >= 0 && e.blocks[last].decided() {
		e.open(event) // what is decided ends with a block
	}
	e.add(p, offset, event)
}

func (e *Events) add(p models.Partition, offset int64, event models.Event) {
	if last := len(e.blocks) - 1; last < 0 || !e.blocks[last].fits(event) {
		e.open(event)
	}
	b, cost := e.blocks[len(e.blocks)-1], costOf(event)
	b.add(e.shared, p, offset, event)
	b.cost += cost
	e.n++
	e.cost += cost
	e.topics[p.Topic]++
	e.bytes += perEvent
}

// open begins a block with room for the event.
func (e *Events) open(event models.Event) {
	b := newBlock(len(e.blocks), event)
	e.blocks = append(e.blocks, b)
	e.bytes += b.text.Cap()
}

// Decided is how many of the first events are decided.
func (e *Events) Decided() (n int) {
	for _, b := range e.blocks {
		if !b.decided() {
			break
		}
		n += b.n
	}
	return n
}

// After returns the events without the first n, which must be all or have been all when Decide was called. The list shares its memory with the
// result, to which nothing may be added, and which has no Topics.
func (e *Events) After(n int) *Events {
	i, rest, cost := 0, e.n, e.cost
	for ; i < len(e.blocks) && e.n-rest < n; i++ {
		rest -= e.blocks[i].n
		cost -= e.blocks[i].cost
	}
	return &Events{shared: e.shared, blocks: e.blocks[i:], n: rest, cost: cost}
}

// All yields the events with their places in the list. The event is valid until the next one is asked for: it is the same memory each time.
// First is nil before the event is decided.
func (e *Events) All() iter.Seq2[int, *eventlog.Counted] {
	return func(yield func(int, *eventlog.Counted) bool) {
		i, s := 0, newScratch()
		for _, b := range e.blocks {
			for one := range b.all(e.shared, s) {
				if !yield(i, one) {
					return
				}
				i++
			}
		}
	}
}

// Decide sets First of every event to what answer returns. answer may append to the empty list that it is given.
func (e *Events) Decide(answer func(i int, one *eventlog.Counted, empty []bool) []bool) {
	i, s, first := 0, newScratch(), []bool(nil)
	for _, b := range e.blocks {
		var decided bits
		for one := range b.all(e.shared, s) {
			first = answer(i, one, first[:0])
			decided.append(first)
			i++
		}
		b.first = decided
	}
}

// Parts cuts the list into lists of about that cost, which share their memory with it. What is decided of a part is decided of the whole. Nothing
// may be added to a part, and it has no Topics.
func (e *Events) Parts(cost int) iter.Seq[*Events] {
	return func(yield func(*Events) bool) {
		part := &Events{shared: e.shared}
		for i, b := range e.blocks {
			part.blocks = append(part.blocks, b)
			part.n += b.n
			if part.cost += b.cost; part.cost < cost && i < len(e.blocks)-1 {
				continue
			}
			if !yield(part) {
				return
			}
			part = &Events{shared: e.shared}
		}
	}
}

// Select returns a copy of the events for which keep returns true, with what is decided of them.
func (e *Events) Select(keep func(i int, one *eventlog.Counted) bool) *Events {
	out := New(e.shared.ids)
	for i, one := range e.All() {
		switch {
		case !keep(i, one):
		case one.First == nil:
			out.Add(one.Partition, one.Offset, one.Event)
		default:
			out.add(one.Partition, one.Offset, one.Event)
			out.blocks[len(out.blocks)-1].first.append(one.First)
		}
	}
	return out
}
