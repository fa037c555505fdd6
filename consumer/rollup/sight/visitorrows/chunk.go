package visitorrows

import (
	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/models"
)

// Chunk decides about the visits of a chunk: call Ask with each of them, Learn with the rows that the cache does not have, Decide with each
// visit in the same order, and Keep when the store has acknowledged what Fresh returns. Not safe for concurrent use, except that several may read it when
// all is decided: Fresh, Keep, and Ask of the next chunk.
type Chunk struct {
	cache *Cache
	full  int // how many entries a row has at the most
	slab  slab

	places  map[eventlog.Fingerprint]int32
	rows    []row   // by place
	asked   []int32 // the places of all visits' rows, in order
	decided int     // how many of asked are answered
	unknown []models.Visitor
	missing []int32 // the places of unknown
	fresh   []fresh
	buffer  []models.Row
}

// row is a visitor's row as the chunk knows it.
type row struct {
	id     eventlog.Fingerprint // in the cache
	end    chain
	cached chain // the last entry that the cache has; 0: the cache does not have the row
	n      int32 // entries
	sealed bool  // nothing may be added: each sighting has a row of its own
	spoilt bool  // an entry that the cache has was changed
}

// fresh is an entry that the store does not have.
type fresh struct {
	place   int32
	visitor models.Visitor
	first   models.First
}

// NewChunk makes a chunk. Rows with full entries get no more: what a visit is the first of beyond that is left to the caller.
func (c *Cache) NewChunk(full int) *Chunk {
	return &Chunk{cache: c, full: full, places: map[eventlog.Fingerprint]int32{}}
}

// Ask notes the rows that a visit in a partition of the log concerns, and gets those that the cache has. before is a chunk that is decided and
// not kept yet, whose rows are further than those of the cache; nil: there is none.
func (c *Chunk) Ask(v *models.Visit, p models.Partition, before *Chunk) {
	c.slab.features = len(v.Features)
	c.buffer = v.AppendRows(c.buffer[:0])
	for _, r := range c.buffer {
		visitor := models.Visitor{Site: v.SiteID, Month: r.Month, GUID: v.GUID}
		id := eventlog.FingerprintOf(c.cache.hasher, visitor)
		place, seen := c.places[id]
		if !seen {
			place = int32(len(c.rows))
			c.places[id] = place
			if r, there := before.row(id); there { // in whichever partition: before has the same owner
				r.end, _ = c.slab.copyRow(&before.slab, r.end)
				if r.cached = r.end; r.spoilt { // before's Keep caches up to r.end, or drops a spoilt row
					r.cached, r.spoilt = 0, false
				}
				c.rows = append(c.rows, r)
			} else {
				key := c.cache.key(id, p)
				end, n, known := c.cache.find(key, &c.slab)
				c.rows = append(c.rows, row{id: key, end: end, cached: end, n: int32(n)})
				if !known {
					c.unknown, c.missing = append(c.unknown, visitor), append(c.missing, place)
				}
			}
		}
		c.asked = append(c.asked, place)
	}
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

// Unknown lists the visitors whose rows the cache does not have.
func (c *Chunk) Unknown() []models.Visitor { return c.unknown }

// Learn takes the rows of Unknown, in their order.
func (c *Chunk) Learn(rows []store.VisitorRow) {
	for i, r := range rows {
		at := &c.rows[c.missing[i]]
		at.sealed = !r.Rows
		for _, f := range r.Firsts {
			if e, ok := c.entryOf(f.At, f.Day, c.unknown[i].Month, f.Features); ok {
				for i, set := range f.Of {
					e.of[i] = set & models.Subsets(1<<c.slab.features-1) // somebody may have written others by hand
				}
				at.end = c.slab.add(&e, at.end)
			}
			at.n++
		}
	}
}

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

// Decide answers in which ways a visit is its visitor's first. beyond are ways that are not in the visitor's row, which is full or does not
// exist: the caller looks for them by sighting.
func (c *Chunk) Decide(v *models.Visit, at models.Position) (first, beyond models.Ways) {
	c.buffer = v.AppendRows(c.buffer[:0])
	for _, r := range c.buffer {
		place := c.asked[c.decided]
		c.decided++
		to := &c.rows[place]
		if to.sealed {
			beyond = join(beyond, r.Asked)
			continue
		}
		mine, _ := c.entryOf(at, v.TS, r.Month, v.Features)
		own, left, here := c.search(to.end, &mine, r)
		first = join(first, here)
		switch {
		case left == models.Ways{}:
		case own == 0 && int(to.n) >= c.full:
			beyond = join(beyond, left)
		default:
			first = join(first, left)
			c.enter(place, own, &mine, join(here, left), v, at, r.Month)
		}
	}
	return first, beyond
}

// search looks for the ways that are asked among a row's entries. own is the visit's own entry, if there is one; here are the ways of own,
// and left those that no entry has.
func (c *Chunk) search(end chain, mine *entry, r models.Row) (own chain, left, here models.Ways) {
	left = r.Asked
	week := weekOf(r.Month, mine.day)
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
			if weekOf(r.Month, e.day) != week {
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
func (c *Chunk) enter(place int32, own chain, mine *entry, of models.Ways, v *models.Visit, at models.Position, month models.Millis) {
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
	c.fresh = append(c.fresh, fresh{place, models.Visitor{Site: v.SiteID, Month: month, GUID: v.GUID},
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
		case r.sealed:
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
	c.rows, c.asked, c.decided = c.rows[:0], c.asked[:0], 0
	c.unknown, c.missing, c.fresh = c.unknown[:0], c.missing[:0], c.fresh[:0]
}
