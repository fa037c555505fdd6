package sight

import (
	"footfall/consumer/eventlog"
	"footfall/consumer/rollup/packed"
	"footfall/consumer/rollup/sight/visitorrows"
	"footfall/models"
)

// part is what some events of a chunk ask about visitors. Many events ask about the same sighting, so each one has a place in the lists,
// found by its fingerprint. Parts are used again only to reuse their memory.
type part struct {
	places  map[eventlog.Fingerprint]int32
	first   []models.Position      // by place: the first event; before the lookup the part's earliest (all are in one partition)
	unknown []models.Sighting      // that neither the cache nor the part before has
	ids     []eventlog.Fingerprint // of unknown
	missing []int32                // the places of unknown
	fresh   []models.Sighting      // that the store does not have either, in the memory of unknown
	at      []models.Position      // the first events of fresh
	rows    *visitorrows.Chunk     // of visitors of sites
}

// find returns the first event of a sighting.
func (p *part) find(id eventlog.Fingerprint) (models.Position, bool) {
	place, known := p.places[id]
	if !known {
		return models.Position{}, false
	}
	return p.first[place], true
}

// forget empties the lists. It frees lists that are much larger than they had to be: chunks grow under a backlog.
func (p *part) forget() {
	p.rows.Forget()
	if 4*len(p.first) < cap(p.first) {
		*p = part{places: map[eventlog.Fingerprint]int32{}, rows: p.rows}
		return
	}
	clear(p.places)
	clear(p.unknown) // or their strings would stay in memory
	p.first, p.unknown, p.ids, p.missing, p.fresh, p.at = p.first[:0], p.unknown[:0], p.ids[:0], p.missing[:0], nil, p.at[:0]
}

func (v *Visitors) newPart() *part {
	if n := len(v.spare); n > 0 {
		p := v.spare[n-1]
		v.spare = v.spare[:n-1]
		return p
	}
	return &part{places: map[eventlog.Fingerprint]int32{}, rows: v.rows.NewChunk(v.full)}
}

func (v *Visitors) reuse(p *part) {
	p.forget()
	v.spare = append(v.spare, p)
}

// answers are those to the events of a part.
type answers struct {
	list  []bool  // of all events
	ends  []int32 // by event: where its part of list ends
	asked []asked // in the order of list
}

// asked is an answer that waits for a sighting.
type asked struct{ answer, place int32 }

// tell sets First of the events.
func (a *answers) tell(events *packed.Events, first []models.Position) {
	begin, rest := int32(0), a.asked
	events.Decide(func(i int, e *eventlog.Counted, told []bool) []bool {
		for ; len(rest) > 0 && rest[0].answer < a.ends[i]; rest = rest[1:] {
			a.list[rest[0].answer] = first[rest[0].place] == e.Position()
		}
		told, begin = append(told, a.list[begin:a.ends[i]]...), a.ends[i]
		return told
	})
}

func (a *answers) forget() {
	if 4*len(a.list) < cap(a.list) {
		*a = answers{}
		return
	}
	a.list, a.ends, a.asked = a.list[:0], a.ends[:0], a.asked[:0]
}
