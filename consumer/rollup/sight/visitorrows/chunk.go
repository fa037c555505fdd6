package visitorrows

import (
	"iter"
	"math/bits"
	"slices"

	"footfall/consumer/eventlog"
	"footfall/models"
)

// Chunk decides about the visits of a chunk: call Ask with each of them, Learn and Learnt about the rows that the cache does not have, if IsFull AskBeyond with
// each of them, and Learn and Learnt again, Decide with each visit in the same order, and Keep when the store has acknowledged what Fresh returns. Not safe for concurrent
// use, except that several may read it when all is decided: Fresh, Keep, and Ask of the next chunk.
type Chunk struct {
	cache *Cache
	full  int // how many entries a visitor's first row has before others are used
	slab  slab

	places  map[eventlog.Fingerprint]int32
	rows    []row   // by place
	asked   []int32 // the places of all visits' first rows, in order
	looked  int     // how many of asked AskBeyond has looked at
	decided int     // how many of asked are answered
	unknown []models.Visitor
	missing []int32 // the places of unknown
	learnt  int     // how many of unknown the store was asked for
	fresh   []fresh
	buffer  []models.Row
}

// row is a visitor's row as the chunk knows it.
type row struct {
	id     eventlog.Fingerprint // in the cache
	end    chain
	cached chain // the last entry that the cache has; 0: the cache does not have the row
	n      int32 // entries
	spoilt bool  // an entry that the cache has was changed
}

// fresh is an entry that the store does not have.
type fresh struct {
	place   int32
	visitor models.Visitor
	first   models.First
}

// NewChunk makes a chunk. full is how many entries a visitor's first row has before others are used: models.FullRow, but in tests.
func (c *Cache) NewChunk(full int) *Chunk {
	return &Chunk{cache: c, full: full, places: map[eventlog.Fingerprint]int32{}}
}

// Ask notes the first rows that a visit in a partition of the log concerns, and gets those that the cache has. before is a chunk that is decided and
// not kept yet, whose rows are further than those of the cache; nil: there is none.
func (c *Chunk) Ask(v *models.Visit, p models.Partition, before *Chunk) {
	c.slab.features = len(v.Features)
	c.buffer = v.AppendRows(c.buffer[:0])
	for _, r := range c.buffer {
		c.asked = append(c.asked, c.ask(v.Under(r.Month, 0), p, before))
	}
}

// IsFull tells whether a first row is, so that AskBeyond has something to ask.
func (c *Chunk) IsFull() bool {
	return slices.ContainsFunc(c.rows, func(r row) bool { return int(r.n) >= c.full })
}

// AskBeyond does the same for the rows that are used beyond a full one: those under the combinations that are not found otherwise.
func (c *Chunk) AskBeyond(v *models.Visit, p models.Partition, before *Chunk) {
	c.buffer = v.AppendRows(c.buffer[:0])
	for _, r := range c.buffer {
		first := c.rows[c.asked[c.looked]]
		c.looked++
		if int(first.n) < c.full {
			continue
		}
		mine, _ := c.entryOf(models.Position{Offset: -1}, v.TS, r.Month, v.Features)
		_, left, _ := c.search(first.end, &mine, r.Month, r.Asked)
		for m := range combinations(&left) {
			place := c.ask(v.Under(r.Month, m), p, before)
			_, left, _ = c.search(c.rows[place].end, &mine, r.Month, left)
		}
	}
}

// combinations are those of ways, but for the one that keeps nothing, from the smallest on; of what is left of them when each one's turn comes.
func combinations(left *models.Ways) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for m := uint64(1); m < 1<<models.MaxFeatures; m++ {
			all := (left[0] | left[1] | left[2]) >> m
			if all == 0 || all&1 != 0 && !yield(m) {
				return
			}
		}
	}
}

// ask returns the place of a row. One that has none yet is looked for in before and in the cache, and else listed as unknown.
func (c *Chunk) ask(visitor models.Visitor, p models.Partition, before *Chunk) int32 {
	id := eventlog.FingerprintOf(c.cache.hasher, visitor)
	if place, seen := c.places[id]; seen {
		return place
	}
	if r, there := before.row(id); there { // in whichever partition: before has the same owner
		r.end, _ = c.slab.copyRow(&before.slab, r.end)
		if r.cached = r.end; r.spoilt { // before's Keep caches up to r.end, or drops a spoilt row
			r.cached, r.spoilt = 0, false
		}
		return c.put(id, r)
	}
	key := c.cache.key(id, p)
	end, n, known := c.cache.find(key, &c.slab)
	place := c.put(id, row{id: key, end: end, cached: end, n: int32(n)})
	if !known {
		c.unknown, c.missing = append(c.unknown, visitor), append(c.missing, place)
	}
	return place
}

func (c *Chunk) put(id eventlog.Fingerprint, r row) int32 {
	place := int32(len(c.rows))
	c.places[id], c.rows = place, append(c.rows, r)
	return place
}

// row is what the chunk knows of a visitor's row.
func (c *Chunk) row(id eventlog.Fingerprint) (row, bool) {
	if c == nil {
		return row{}, false
	}
	place, there := c.places[id]
	if !there {
		return row{}, false
	}
	return c.rows[place], true
}

// Rows is how many rows the visits concern.
func (c *Chunk) Rows() int { return len(c.rows) }

// Unknown lists the rows that neither the cache has nor the store was asked for.
func (c *Chunk) Unknown() []models.Visitor { return c.unknown[c.learnt:] }

// Learn takes an entry of a row of Unknown: of the i-th one.
func (c *Chunk) Learn(i int, f models.First) {
	e, ok := c.entryOf(f.At, f.Day, c.unknown[c.learnt+i].Month, f.Features)
	if !ok {
		return // it does not count either: the cache would not know of it
	}
	for i, set := range f.Of {
		e.of[i] = set & models.Subsets(1<<c.slab.features-1) // somebody may have written others by hand
	}
	row := &c.rows[c.missing[c.learnt+i]]
	row.end = c.slab.add(&e, row.end)
	row.n++
}

// Learnt says that Learn was told all entries of Unknown.
func (c *Chunk) Learnt() { c.learnt = len(c.unknown) }

const (
	dayMillis  = 24 * 60 * 60 * 1000
	weekBefore = 6 // days before its month that a row may have, of a week that ends in the month
)

// entryOf makes an entry; false if it cannot be one of that row, as when somebody wrote it by hand.
func (c *Chunk) entryOf(at models.Position, day, month models.Millis, features []string) (e entry, ok bool) {
	days := (day.Day()-month)/dayMillis + weekBefore
	if days < 0 || days > 40 || len(features) != c.slab.features {
		return e, false
	}
	e.partition, e.day, e.offset = c.cache.number(models.Partition{Topic: at.Topic, Number: at.Partition}), uint8(days), at.Offset
	for i, f := range features {
		e.values[i] = valueOf(c.cache.hasher, f)
	}
	return e, true
}

// Decide answers in which ways a visit is its visitor's first.
func (c *Chunk) Decide(v *models.Visit, at models.Position) (first models.Ways) {
	c.buffer = v.AppendRows(c.buffer[:0])
	for _, r := range c.buffer {
		place := c.asked[c.decided]
		c.decided++
		mine, _ := c.entryOf(at, v.TS, r.Month, v.Features)
		own, left, found := c.search(c.rows[place].end, &mine, r.Month, r.Asked)
		full := int(c.rows[place].n) >= c.full
		if full {
			for m := range combinations(&left) {
				_, rest, here := c.search(c.rows[c.under(v, at, r.Month, m)].end, &mine, r.Month, left)
				left, found = rest, join(found, here)
			}
		}
		first = join(first, join(found, left))
		switch {
		case left == models.Ways{}:
		case !full:
			c.enter(place, own, &mine, left, v.Under(r.Month, 0), v, at)
		default:
			c.enterBeyond(place, &mine, left, r.Month, v, at)
		}
	}
	return first
}

// under is the place of a row that is used beyond a full one. One that was not asked about is empty: the first row became full in this chunk.
func (c *Chunk) under(v *models.Visit, at models.Position, month models.Millis, m uint64) int32 {
	id := eventlog.FingerprintOf(c.cache.hasher, v.Under(month, m))
	if place, asked := c.places[id]; asked {
		return place
	}
	return c.put(id, row{id: c.cache.key(id, models.Partition{Topic: at.Topic, Number: at.Partition})})
}

// enterBeyond adds entries to the rows of the smallest combinations that are new: each visit with a combination asks for the rows of all that are
// part of it. A row gets an entry only if its own combination is new in a month, a week or a day, so the calendar bounds it.
func (c *Chunk) enterBeyond(place int32, mine *entry, left models.Ways, month models.Millis, v *models.Visit, at models.Position) {
	var of [1 << models.MaxFeatures]models.Ways
	for i, set := range left {
		for rest := set; rest != 0; rest &= rest - 1 {
			smallest := bits.TrailingZeros64(set & models.Subsets(uint64(bits.TrailingZeros64(rest))))
			of[smallest][i] |= rest & -rest
		}
	}
	for m, ways := range of {
		if ways == (models.Ways{}) {
			continue
		}
		to := place
		if m > 0 {
			to = c.under(v, at, month, uint64(m))
		}
		own, _, _ := c.search(c.rows[to].end, mine, month, models.Ways{})
		c.enter(to, own, mine, ways, v.Under(month, uint64(m)), v, at)
	}
}

// search looks for the ways that are asked among a row's entries. own is the visit's own entry, if there is one; here are the ways of own,
// and left those that no entry has.
func (c *Chunk) search(end chain, mine *entry, month models.Millis, asked models.Ways) (own chain, left, here models.Ways) {
	left = asked
	week := weekOf(month, mine.day)
	var e entry
	for at := end; at != 0; {
		before := c.slab.get(at, &e)
		var same uint64
		for i := range c.slab.features {
			if e.values[i] == mine.values[i] && e.values[i] != 0 {
				same |= 1 << i
			}
		}
		found := e.of
		if e.day != mine.day {
			found[2] = 0
			if weekOf(month, e.day) != week {
				found[1] = 0
			}
		}
		is := e.partition == mine.partition && e.offset == mine.offset
		if is {
			own = at
		}
		for i := range found {
			found[i] &= models.Subsets(same) & left[i]
			left[i] &^= found[i]
			if is {
				here[i] |= found[i]
			}
		}
		at = before
	}
	return own, left, here
}

// weekOf numbers weeks, which begin on Monday. day is that of an entry.
func weekOf(month models.Millis, day uint8) int64 {
	const thursday = 3 // the first day of 1970, from Monday
	return (int64(month)/dayMillis - weekBefore + int64(day) + thursday) / 7
}

// enter adds an entry to a row, or more ways to the visit's own one.
func (c *Chunk) enter(place int32, own chain, mine *entry, of models.Ways, whose models.Visitor, v *models.Visit, at models.Position) {
	to := &c.rows[place]
	if own != 0 {
		var e entry
		c.slab.get(own, &e)
		of = join(of, e.of)
		c.slab.setWays(c.slab.at(own), of)
		to.spoilt = true
	} else {
		mine.of = of
		to.end = c.slab.add(mine, to.end)
		to.n++
	}
	c.fresh = append(c.fresh, fresh{place, whose,
		models.First{At: at, Day: v.TS.Day(), Features: append([]string(nil), v.Features...), Of: of}})
}

func join(a, b models.Ways) models.Ways {
	for i := range a {
		a[i] |= b[i]
	}
	return a
}

// Fresh lists what the store does not have, by visitor.
func (c *Chunk) Fresh() (visitors []models.Visitor, firsts [][]models.First) {
	index := map[int32]int{}
	for _, f := range c.fresh {
		i, known := index[f.place]
		if !known {
			i = len(visitors)
			index[f.place] = i
			visitors, firsts = append(visitors, f.visitor), append(firsts, nil)
		}
		firsts[i] = append(firsts[i], f.first)
	}
	return visitors, firsts
}

// Keep puts the rows into the cache.
func (c *Chunk) Keep() {
	for _, r := range c.rows {
		switch {
		case r.spoilt:
			c.cache.drop(r.id)
		case r.end != r.cached:
			c.cache.extend(r.id, &c.slab, r.end, r.cached)
		}
	}
}

// Forget empties the chunk for the next one. It frees lists that are much larger than the chunk needed: chunks grow under a backlog.
func (c *Chunk) Forget() {
	if 4*len(c.asked) < cap(c.asked) {
		*c = *c.cache.NewChunk(c.full)
		return
	}
	clear(c.places)
	clear(c.unknown) // or their strings would stay in memory
	clear(c.fresh)
	c.slab.reset()
	c.rows, c.asked, c.looked, c.decided, c.learnt = c.rows[:0], c.asked[:0], 0, 0, 0
	c.unknown, c.missing, c.fresh = c.unknown[:0], c.missing[:0], c.fresh[:0]
}
